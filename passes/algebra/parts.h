#pragma once

#include <vector>

#include "ir/graph/graph.h"

// Hoists subexpressions of a Compute into separate tensors.

namespace tdsl::passes {

/// Appends to `before` a Compute that evaluates `part` over all of its index variables, and returns the element read
/// that replaces the part. Returns null and appends nothing if evaluating the part could stop the run. The dimensions
/// are in the order of those of the largest tensor that the part reads.
[[nodiscard]] ir::Expr computed_ahead(ir::Program& program, const ir::Compute& c, const ir::Expr& part,
                                      ir::SourceRange range, std::vector<ir::Node>& before);

}  // namespace tdsl::passes
