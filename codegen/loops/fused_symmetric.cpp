#include <algorithm>
#include <vector>

#include "codegen/loops/fused_nest_builder.h"
#include "codegen/loops/matrix_product.h"

namespace tdsl::codegen {

namespace {

using Member = FusedKernel::Member;

constexpr int kRow = 0, kColumn = 1;  // index variables of a weighted tensor

/// True for an element of the tensor times, or over, factors of its row.
bool is_weighted(const Expr& e, ValueId tensor) {
  const auto of_row = [](const Expr& factor) {
    return std::ranges::all_of(ir::labels_in(factor), [](int l) { return l == kRow; });
  };
  if (const auto* r = std::get_if<ir::Read>(&e->op)) {
    return r->tensor == tensor && std::ranges::equal(r->subscripts, std::vector{kRow, kColumn}, ir::is_label);
  }
  if (const auto* u = std::get_if<ir::Unary>(&e->op))
    return u->op == ir::UnaryOp::kNeg && is_weighted(u->operand, tensor);
  const auto* b = std::get_if<ir::Binary>(&e->op);
  if (b == nullptr || (b->op != ir::BinaryOp::kMul && b->op != ir::BinaryOp::kDiv)) return false;
  return (is_weighted(b->left, tensor) && of_row(b->right)) ||
         (b->op == ir::BinaryOp::kMul && is_weighted(b->right, tensor) && of_row(b->left));
}

ValueId tensor_of(const ir::ExprNode& read) { return std::get<ir::Read>(read.op).tensor; }

}  // namespace

bool FusedNestBuilder::is_symmetric(const Member& m) const {
  const auto product = matrix_product(m);
  if (!product || !product->of_rows) return false;
  const ir::Label &a = m.compute.out[0], &b = m.compute.out[1];
  if (!(a.begin == b.begin && a.end == b.end)) return false;
  const ValueId x = tensor_of(*product->x), y = tensor_of(*product->y);
  const auto weighs = [this](ValueId value, ValueId tensor) {
    return std::ranges::any_of(fused_.members, [&](const Member& w) {
      const ir::Compute& c = w.compute;
      return w.value == value && !c.monoid && !c.guard && !w.walks() && c.out.size() == 2 &&
             is_weighted(c.bodies[0], tensor);
    });
  };
  return x == y || weighs(x, y) || weighs(y, x);
}

}  // namespace tdsl::codegen
