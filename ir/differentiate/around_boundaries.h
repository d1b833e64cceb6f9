#pragma once

#include <vector>

#include "ir/differentiate/expr.h"
#include "ir/graph/extent_facts.h"
#include "ir/graph/graph.h"

namespace tdsl::ir {

/// The partial of a read at a clamped or mirrored position as partials at affine subscripts, each under the condition
/// that selects its points, so that the adjoint of a stencil is a stencil:
///
///     x[edge(i - 1, n)]   becomes   x[i - 1] where i - 1 >= 0   and   x[i] where i - 1 == -1
///
/// The partial itself for other reads, and where positions may lie more than four places outside (a scatter).
/// `tensor`: the type of the tensor read. `labels`: of the reading Compute, by number.
[[nodiscard]] std::vector<Partial> at_affine_places(const Partial& p, const Type& tensor,
                                                    const std::vector<Label>& labels, const ExtentFacts& facts);

}  // namespace tdsl::ir
