#include "ir/analysis/vector_form.h"

namespace tdsl::ir {

bool is_square(const Binary& b) {
  const auto* exponent = std::get_if<Constant>(&b.right->op);
  if (b.op != BinaryOp::kPow || exponent == nullptr || !is_float(b.left->type)) return false;
  const auto* real = std::get_if<double>(&exponent->value);
  const auto* integer = std::get_if<std::int64_t>(&exponent->value);
  return (real != nullptr && *real == 2.0) || (integer != nullptr && *integer == 2);
}

bool has_vector_form(const ExprNode& node) {
  if (!has_vectors(node.type)) return false;
  if (const auto* u = std::get_if<Unary>(&node.op)) {
    using enum UnaryOp;
    return u->op == kNeg || u->op == kNot || u->op == kAbs || u->op == kRelu || u->op == kIsNan;
  }
  if (const auto* b = std::get_if<Binary>(&node.op)) {
    using enum BinaryOp;
    return is_square(*b) ||
           (b->op != kRem && b->op != kPow && b->op != kMod && !is_boundary(b->op) && !is_bitwise(b->op) &&
            !is_library_function(b->op) && ((b->op != kDiv && b->op != kAbsentDiv) || is_float(node.type)));
  }
  return !std::holds_alternative<Apply>(node.op);
}

}  // namespace tdsl::ir
