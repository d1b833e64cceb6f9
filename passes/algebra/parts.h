#pragma once

#include <vector>

#include "ir/analysis/contraction.h"
#include "ir/graph/graph.h"

// Hoists subexpressions of a Compute into separate tensors.

namespace tdsl::passes {

/// A Compute that evaluates part of another one ahead, and the element read that replaces the part.
struct AheadPart {
  ir::Node node;
  ir::Expr element;
};
/// `part` of `c` over all of its index variables, summed over those of `summed`. The dimensions are in the order of
/// those of the largest tensor that the part reads. The new Compute may stop the run where `c` does not.
[[nodiscard]] AheadPart part_ahead(ir::Program& program, const ir::Compute& c, const ir::Expr& part,
                                   ir::LabelSet summed, ir::SourceRange range);

/// Appends to `before` a Compute that evaluates `part` over all of its index variables, and returns the element read
/// that replaces the part. Returns null and appends nothing if evaluating the part could stop the run. The dimensions
/// are in the order of those of the largest tensor that the part reads.
[[nodiscard]] ir::Expr computed_ahead(ir::Program& program, const ir::Compute& c, const ir::Expr& part,
                                      ir::SourceRange range, std::vector<ir::Node>& before);

}  // namespace tdsl::passes
