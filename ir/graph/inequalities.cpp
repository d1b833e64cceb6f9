#include "ir/graph/inequalities.h"

#include <algorithm>

#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

AffineExpr difference(AffineExpr a, const AffineExpr& b) {
  for (const auto& [label, coefficient] : b.coefficients) {
    if ((a.coefficients[label] -= coefficient) == 0) a.coefficients.erase(label);
  }
  a.offset = a.offset - b.offset;
  return a;
}

template <class T>
std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Both, or nothing if one of them says nothing.
std::vector<Inequality> both(std::vector<Inequality> a, const std::vector<Inequality>& b) {
  return a.empty() || b.empty() ? std::vector<Inequality>{} : joined(std::move(a), b);
}

}  // namespace

AffineExpr scaled(AffineExpr a, std::int64_t by) {
  for (auto& [label, coefficient] : a.coefficients) coefficient *= by;
  a.offset = a.offset * Extent(by);
  return a;
}

AffineExpr plus(AffineExpr a, const Extent& e) {
  a.offset = a.offset + e;
  return a;
}

std::vector<Expr> conjuncts(const Expr& e) {
  if (!e) return {};
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr || b->op != BinaryOp::kAnd) return {e};
  return joined(conjuncts(b->left), conjuncts(b->right));
}

std::vector<Inequality> Inequalities::of(const Expr& condition) const {
  const auto* b = std::get_if<Binary>(&condition->op);
  if (b == nullptr || b->left->type != Scalar::kI64) return {};
  switch (b->op) {
    case BinaryOp::kLe: return at_most(b->left, b->right, 0);
    case BinaryOp::kLt: return at_most(b->left, b->right, 1);
    case BinaryOp::kGe: return at_most(b->right, b->left, 0);
    case BinaryOp::kGt: return at_most(b->right, b->left, 1);
    case BinaryOp::kEq:
      return which_ == Of::kEquality ? both(simple(b->left, b->right, 0, 1), simple(b->right, b->left, 0, 1))
                                     : std::vector<Inequality>{};
    default: return {};
  }
}

/// `a + more <= b`.
std::vector<Inequality> Inequalities::at_most(const Expr& a, const Expr& b, std::int64_t more) const {
  if (const auto* u = std::get_if<Unary>(&a->op); u != nullptr && u->op == UnaryOp::kAbs)
    return both(simple(u->operand, b, more, 1), simple(u->operand, b, more, -1));
  if (const auto* m = std::get_if<Binary>(&a->op); m != nullptr && m->op == BinaryOp::kMax)
    return both(at_most(m->left, b, more), at_most(m->right, b, more));
  if (const auto* m = std::get_if<Binary>(&b->op); m != nullptr && m->op == BinaryOp::kMin)
    return both(at_most(a, m->left, more), at_most(a, m->right, more));
  return simple(a, b, more, 1);
}

/// `sign * a + more <= b`.
std::vector<Inequality> Inequalities::simple(const Expr& a, const Expr& b, std::int64_t more, std::int64_t sign) const {
  const auto left = form_(a);
  const auto right = left ? form_(b) : std::nullopt;
  if (!right) return {};
  return {plus(difference(scaled(*left, sign), *right), Extent(more))};
}

/// The parts of a condition that are inequalities.
std::vector<Expr> Inequalities::known(const Expr& condition) const {
  std::vector<Expr> parts = conjuncts(condition);
  std::erase_if(parts, [this](const Expr& part) { return of(part).empty(); });
  return parts;
}

std::vector<Expr> Inequalities::around(const Expr& e) const {
  if (const auto* s = std::get_if<Select>(&e->op))
    return is_zero(s->when_false) ? joined(known(s->condition), around(s->when_true)) : std::vector<Expr>{};
  if (const auto* c = std::get_if<Cast>(&e->op)) return around(c->operand);
  if (const auto* u = std::get_if<Unary>(&e->op))
    return u->op == UnaryOp::kNeg || u->op == UnaryOp::kAbs || u->op == UnaryOp::kSqrt ? around(u->operand)
                                                                                       : std::vector<Expr>{};
  const auto* b = std::get_if<Binary>(&e->op);
  return b == nullptr ? std::vector<Expr>{} : around(*e, *b);
}

std::vector<Expr> Inequalities::around(const ExprNode& e, const Binary& b) const {
  const auto is_among = [](const std::vector<Expr>& all, const Expr& part) {
    return std::ranges::any_of(all, [&](const Expr& other) { return equal(other, part); });
  };
  switch (b.op) {
    case BinaryOp::kAbsentMul:
    case BinaryOp::kAbsentDiv: return around(b.left);
    case BinaryOp::kMul: return is_float(e.type) ? std::vector<Expr>{} : joined(around(b.left), around(b.right));
    case BinaryOp::kMutualMul:
    case BinaryOp::kAnd: return joined(around(b.left), around(b.right));
    case BinaryOp::kNe:
      return is_zero(b.right) ? around(b.left) : is_zero(b.left) ? around(b.right) : std::vector<Expr>{};
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMin:
    case BinaryOp::kMax: {
      if (is_zero(b.left) || is_zero(b.right)) return around(is_zero(b.right) ? b.left : b.right);
      std::vector<Expr> left = around(b.left);
      const std::vector<Expr> right = around(b.right);
      std::erase_if(left, [&](const Expr& part) { return !is_among(right, part); });
      return left;
    }
    case BinaryOp::kEq:
    case BinaryOp::kLe:
    case BinaryOp::kLt:
    case BinaryOp::kGe:
    case BinaryOp::kGt: {
      if (which_ != Of::kEquality) return {};
      const Expr itself = binary(b.op, b.left, b.right, e.range);
      return of(itself).empty() ? std::vector<Expr>{} : std::vector{itself};
    }
    default: return {};
  }
}

}  // namespace tdsl::ir
