#pragma once

#include <vector>

#include "ir/graph/graph.h"

// Parts of the expression of a Compute as tensors of their own.

namespace tdsl::passes {

/// Adds a Compute of the part's values at all its index variables to `before` and returns the element that stands for
/// the part; null, and nothing added, if computing it could stop the run. Dimensions are in the order in which the
/// largest tensor that the part reads has them.
[[nodiscard]] ir::Expr computed_ahead(ir::Program& program, const ir::Compute& c, const ir::Expr& part,
                                      ir::SourceRange range, std::vector<ir::Node>& before);

}  // namespace tdsl::passes
