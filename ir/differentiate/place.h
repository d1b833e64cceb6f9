#pragma once

#include <optional>
#include <vector>

#include "ir/graph/extent_facts.h"
#include "ir/graph/graph.h"

namespace tdsl::ir {

/// The points of a Compute from the perspective of an element they read: how `adjoint[subscripts(point)] +=
/// value(point)` for all points becomes a Compute over the elements.
///
///     x[i + k] for i in 0..n, k in 0..3   becomes   out [t], reduce [k], i = t - k, guard 0 <= t - k < n
///
/// so that the adjoint of a contraction is a contraction and that of a stencil a stencil.
struct Placement {
  std::vector<Label> out;
  std::vector<Label> reduce;
  std::vector<Expr> left;    ///< empty: `out` covers the whole tensor, in order
  std::vector<Expr> labels;  ///< the point's labels in terms of `out` and `reduce`
  Expr guard;                ///< in addition to the Compute's own; may be null
  bool combines = false;     ///< several points of `out` may add to one element (a scatter; `reduce` is empty)
};

/// `labels`: of the reading Compute, out labels first. `is_protected`: the read is not evaluated at every point, so its
/// subscripts may be out of bounds elsewhere; the protecting condition must then be part of the new Compute's guard if
/// that has store subscripts. `over_all`: elements that are not read are excluded by the guard, not by ranges, so that
/// contributions to one tensor fuse.
[[nodiscard]] Placement place(const ExtentFacts& facts, const std::vector<Expr>& subscripts, const Type& tensor,
                              const std::vector<Label>& labels, bool is_protected, bool over_all = false);

/// The placement of a read by a reshape: subscripts that decompose the row-major position of the point,
///
///     A[(6 * i + j) / 4, (6 * i + j) % 4]   for i in 0..2, j in 0..6   of A: f64[3, 4]
///
/// so that each element is read at exactly one point: i = (4 * s + t) / 6, j = (4 * s + t) % 6. Nothing for other
/// subscripts.
[[nodiscard]] std::optional<Placement> unflattened(const ExtentFacts& facts, const std::vector<Expr>& subscripts,
                                                   const Type& tensor, const std::vector<Label>& labels);

}  // namespace tdsl::ir
