#include "codegen/nest/increments.h"

#include <cstdlib>

namespace tdsl::codegen {

using ir::Expr;

namespace {

constexpr std::int64_t kSmall = std::int64_t{1} << 20;

}  // namespace

std::optional<std::int64_t> small_constant(const Expr& e) {
  const auto* c = std::get_if<ir::Constant>(&e->op);
  const auto* value = c == nullptr ? nullptr : std::get_if<std::int64_t>(&c->value);
  return value != nullptr && -kSmall <= *value && *value <= kSmall ? std::optional(*value) : std::nullopt;
}

std::optional<std::int64_t> increment_of(const Expr& e, const std::function<bool(ir::ValueId)>& is_variable) {
  const auto* b = std::get_if<ir::Binary>(&e->op);
  if (b == nullptr || (b->op != ir::BinaryOp::kAdd && b->op != ir::BinaryOp::kSub)) return std::nullopt;
  const auto is_read = [&](const Expr& part) {
    const auto* r = std::get_if<ir::Read>(&part->op);
    return r != nullptr && r->subscripts.empty() && is_variable(r->tensor);
  };
  const auto right = small_constant(b->right);
  if (is_read(b->left) && right) return b->op == ir::BinaryOp::kAdd ? *right : -*right;
  if (is_read(b->right) && b->op == ir::BinaryOp::kAdd) return small_constant(b->left);
  return std::nullopt;
}

}  // namespace tdsl::codegen
