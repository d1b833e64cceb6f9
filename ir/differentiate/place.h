#pragma once

#include <vector>

#include "ir/graph/extent_facts.h"
#include "ir/graph/graph.h"

namespace tdsl::ir {

/// The points of a Compute seen from an element that they read: how `adjoint[subscripts(point)] += value(point)` for
/// all points becomes a Compute over the elements.
///
///     x[i + k] for i in 0..n, k in 0..3   becomes   out [t], reduce [k], i = t - k, guard 0 <= t - k < n
///
/// so that the adjoint of a contraction is a contraction and that of a stencil a stencil.
struct Placement {
  std::vector<Label> out;
  std::vector<Label> reduce;
  std::vector<Expr> left;    ///< empty: `out` is all of the tensor, in order
  std::vector<Expr> labels;  ///< the point's labels in terms of `out` and `reduce`
  Expr guard;                ///< on top of the Compute's own; may be null
  bool combines = false;     ///< several points of `out` may meet in one element (a scatter; `reduce` is empty)
};

/// `labels`: of the reading Compute, out labels first. `is_protected`: the read is not evaluated at every point, so its
/// subscripts may leave the tensor elsewhere; what protects it must then be part of the new Compute's guard where that
/// has left subscripts.
[[nodiscard]] Placement place(const ExtentFacts& facts, const std::vector<Expr>& subscripts, const Type& tensor,
                              const std::vector<Label>& labels, bool is_protected);

}  // namespace tdsl::ir
