#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/affine.h"

namespace tdsl::ir {

/// A subscript that `pad` clamps, mirrors or moves into its dimension: `edge(x, n)`, `reflect(x, n)`, `symmetric(x,
/// n)`, `around(x, n)` for an affine position x of known range.
struct Boundary {
  BinaryOp op = BinaryOp::kEdge;
  Affine position;
  Extent extent;  ///< n
  Expr x;         ///< as written
  Expr n;
  Extent below;  ///< the largest distance of x to the first element; at most 0 if x is never below 0
  Extent above;  ///< that to the last element, for x above n - 1
};

/// Nothing for any other expression. `labels` by number.
[[nodiscard]] std::optional<Boundary> boundary_of(const Expr& e, const std::vector<Label>& labels, const Hoist& hoist);

/// True unless 0 <= x (x < n) is provable.
[[nodiscard]] bool may_be_below(const Boundary& b);
[[nodiscard]] bool may_be_above(const Boundary& b);
/// True where x is a place of the dimension; null if it always is.
[[nodiscard]] Expr is_inside(const Boundary& b);

/// The largest distance of a position `distance` outside to its image, in any dimension with elements. Not for kAround.
[[nodiscard]] std::int64_t farthest_image(BinaryOp op, std::int64_t distance);
/// Distances up to this one have bounds.
constexpr std::int64_t kMostDistance = std::int64_t{1} << 31;

}  // namespace tdsl::ir
