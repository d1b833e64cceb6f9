#include "ir/analysis/combined.h"

#include "ir/graph/check.h"

namespace tdsl::ir {

namespace {

Expr is_identity(const Monoid& m, const Expr& e) {
  const auto* c = std::get_if<Constant>(&m.identity->op);
  const auto* number = c == nullptr ? nullptr : std::get_if<double>(&c->value);
  const bool nan = number != nullptr && *number != *number;
  return nan ? unary(UnaryOp::kIsNan, e) : binary(BinaryOp::kEq, e, m.identity);
}

}  // namespace

Expr combined(const Monoid& m, const Expr& old, const Expr& value) {
  switch (m.kind) {
    case Monoid::Kind::kSum: return binary(BinaryOp::kAdd, old, value);
    case Monoid::Kind::kProd: return binary(BinaryOp::kMul, old, value);
    case Monoid::Kind::kMin: return binary(BinaryOp::kMin, old, value);
    case Monoid::Kind::kMax: return binary(BinaryOp::kMax, old, value);
    case Monoid::Kind::kAny: return binary(BinaryOp::kOr, old, value);
    case Monoid::Kind::kAll: return binary(BinaryOp::kAnd, old, value);
    case Monoid::Kind::kUser: {
      const Expr both = rewrite(m.combine, [&](const Expr& e) {
        const auto* a = std::get_if<Argument>(&e->op);
        return a == nullptr ? e : a->position == 0 ? old : value;
      });
      return select(is_identity(m, old), value, both);
    }
    case Monoid::Kind::kArgMin:
    case Monoid::Kind::kArgMax: break;
  }
  TDSL_CHECK(false, "argmin and argmax do not combine values");
  return {};
}

}  // namespace tdsl::ir
