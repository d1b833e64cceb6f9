#include "ir/analysis/boundary.h"

#include "ir/graph/expr_build.h"

namespace tdsl::ir {

std::optional<Boundary> boundary_of(const Expr& e, const std::vector<Label>& labels, const Hoist& hoist) {
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr || !is_boundary(b->op)) return std::nullopt;
  auto position = affine_of(b->left, hoist);
  const auto size = position ? affine_of(b->right, hoist) : std::nullopt;
  // Without labels, the image is one value, computed ahead.
  if (!size || !size->terms.empty() || position->terms.empty()) return std::nullopt;
  const auto hull = hull_of(*position, labels);
  if (!hull) return std::nullopt;
  const Extent above = hull->high - size->constant + Extent(1);
  return Boundary{b->op, std::move(*position), size->constant, b->left, b->right, Extent(0) - hull->low, above};
}

bool may_be_below(const Boundary& b) { return b.below.constant().value_or(1) > 0; }
bool may_be_above(const Boundary& b) { return b.above.constant().value_or(1) > 0; }

Expr is_inside(const Boundary& b) {
  Expr inside;
  if (may_be_below(b)) inside = binary(BinaryOp::kGe, b.x, constant_i64(0));
  if (may_be_above(b)) inside = conjunction_of(inside, binary(BinaryOp::kLt, b.x, b.n));
  return inside;
}

std::int64_t farthest_image(BinaryOp op, std::int64_t distance) {
  if (distance <= 0) return 0;
  return op == BinaryOp::kEdge ? distance : op == BinaryOp::kReflect ? 2 * distance : 2 * distance - 1;
}

}  // namespace tdsl::ir
