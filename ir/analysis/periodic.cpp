#include "ir/analysis/periodic.h"

#include "ir/analysis/boundary.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

std::optional<Periodic> periodic_of(const Expr& e, const std::vector<Label>& labels, const Hoist& hoist) {
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr || (b->op != BinaryOp::kMod && b->op != BinaryOp::kRem)) return std::nullopt;
  const auto sum = affine_of(b->left, hoist);
  const auto divisor = sum ? affine_of(b->right, hoist) : std::nullopt;
  if (!divisor || !divisor->terms.empty() || sum->terms.size() != 1 || !(sum->terms[0].coefficient == Extent(1)))
    return std::nullopt;
  const Periodic found{sum->terms[0].label, sum->constant, divisor->constant, b->left, b->right};
  if (!provably_inside(Affine{{{found.label, Extent(1)}}, {}}, labels, found.extent)) return std::nullopt;
  // `%` keeps the sign of a negative sum, which is then an invalid subscript.
  const Extent first = labels[static_cast<std::size_t>(found.label)].begin + found.constant;
  if (b->op == BinaryOp::kRem && first.constant().value_or(-1) < 0) return std::nullopt;
  return found;
}

std::optional<Turns> turns_of(const Expr& e, const Extent& extent, const std::vector<Label>& labels,
                              const Hoist& hoist) {
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr || (b->op != BinaryOp::kMod && b->op != BinaryOp::kRem)) return std::nullopt;
  const auto x = affine_of(b->left, hoist);
  const auto n = x && !x->terms.empty() ? affine_of(b->right, hoist) : std::nullopt;
  if (!n || !n->terms.empty() || !(n->constant == extent)) return std::nullopt;
  const auto hull = hull_of(*x, labels);
  if (!hull) return std::nullopt;
  const Extent below = Extent(0) - hull->low, above = hull->high - extent + Extent(1);
  // The subscript at an end that positions leave by at most `distance`; false if that is unknown.
  const auto place = [&](const Extent& distance, BinaryOp turn, Expr& into) {
    const auto number = distance.constant();
    if (number && *number <= 0) return true;
    into = binary(turn, b->left, b->right);
    const bool once = (number && *number == 1) || (extent - distance).constant().value_or(-1) >= 0;
    if (once) return true;
    into = binary(BinaryOp::kAround, into, b->right);
    return number && *number <= kMostDistance;
  };
  Turns turns{b->left, b->right, {}, {}};
  if (!place(below, BinaryOp::kAdd, turns.below) || !place(above, BinaryOp::kSub, turns.above)) return std::nullopt;
  if (turns.below && b->op == BinaryOp::kRem) return std::nullopt;  // it keeps the sign
  return turns;
}

Expr with_label(const Expr& e, std::int32_t label, const Expr& value) {
  if (!e) return e;
  return rewrite(e, [&](const Expr& n) {
    const auto* r = std::get_if<IndexRef>(&n->op);
    return r != nullptr && r->label == label ? value : n;
  });
}

}  // namespace tdsl::ir
