#include "ir/graph/expr_build.h"

namespace tdsl::ir {

Expr float_constant(Scalar type, double value) { return constant(type, value); }

bool is_float_constant(const Expr& e, double value) {
  const auto* c = std::get_if<Constant>(&e->op);
  return c != nullptr && is_float(e->type) && std::get<double>(c->value) == value;
}

Expr sum_of(const Expr& a, const Expr& b) {
  if (is_float_constant(a, 0.0)) return b;
  if (is_float_constant(b, 0.0)) return a;
  if (equal(a, b)) return product_of(float_constant(a->type, 2.0), a);
  if (const auto* n = std::get_if<Unary>(&b->op); n != nullptr && n->op == UnaryOp::kNeg)
    return binary(BinaryOp::kSub, a, n->operand);
  return binary(BinaryOp::kAdd, a, b);
}

Expr product_of(const Expr& a, const Expr& b) {
  if (is_float_constant(a, 0.0) || is_float_constant(b, 1.0)) return a;
  if (is_float_constant(b, 0.0) || is_float_constant(a, 1.0)) return b;
  if (is_float_constant(a, -1.0)) return negation_of(b);
  if (is_float_constant(b, -1.0)) return negation_of(a);
  return binary(BinaryOp::kMul, a, b);
}

Expr quotient_of(const Expr& a, const Expr& b) {
  if (is_float_constant(a, 0.0) || is_float_constant(b, 1.0)) return a;
  return binary(BinaryOp::kDiv, a, b);
}

Expr negation_of(const Expr& a) {
  if (const auto* n = std::get_if<Unary>(&a->op); n != nullptr && n->op == UnaryOp::kNeg) return n->operand;
  return unary(UnaryOp::kNeg, a);
}

Expr conjugated(const Expr& a) {
  if (!is_complex(a->type) || std::holds_alternative<Constant>(a->op)) return a;
  const auto* c = std::get_if<Cast>(&a->op);
  if (c != nullptr && !is_complex(c->operand->type)) return a;
  const auto* u = std::get_if<Unary>(&a->op);
  return u != nullptr && u->op == UnaryOp::kConj ? u->operand : unary(UnaryOp::kConj, a);
}

Expr where(const Expr& condition, const Expr& value) {
  return condition ? select(condition, value, float_constant(value->type, 0.0)) : value;
}

Expr zero_of(Scalar type) {
  if (type == Scalar::kBool) return constant(type, false);
  return is_float(type) ? constant(type, 0.0) : constant(type, std::int64_t{0});
}

bool is_zero(const Expr& e) {
  const auto* c = std::get_if<Constant>(&e->op);
  return c != nullptr && std::visit([](auto x) { return x == decltype(x){}; }, c->value);
}

Expr conjunction_of(const Expr& a, const Expr& b) {
  if (!a || !b) return a ? a : b;
  return binary(BinaryOp::kAnd, a, b);
}

Expr index_sum(const Expr& a, const Expr& b) { return binary(BinaryOp::kAdd, a, b); }

Expr index_difference(const Expr& a, const Expr& b) { return binary(BinaryOp::kSub, a, b); }

Expr index_product(std::int64_t c, const Expr& a) { return binary(BinaryOp::kMul, constant_i64(c), a); }

namespace {

Expr expr_of(const Extent::Atom& atom) {
  if (atom.kind == Extent::Atom::Kind::kValue) return read(Scalar::kI64, atom.value, {});
  const BinaryOp op = atom.kind == Extent::Atom::Kind::kQuotient ? BinaryOp::kDiv : BinaryOp::kRem;
  return binary(op, expr_of(atom.numerator), expr_of(atom.denominator));
}

}  // namespace

Expr expr_of(const Extent& e) {
  Expr sum;
  for (const auto& [monomial, coefficient] : e.terms()) {
    Expr product = constant_i64(coefficient);
    for (const Extent::AtomRef& atom : monomial) product = binary(BinaryOp::kMul, product, expr_of(*atom));
    sum = sum ? index_sum(sum, product) : product;
  }
  return sum ? sum : constant_i64(0);
}

std::int32_t bare_label(const Expr& e) {
  const auto* i = std::get_if<IndexRef>(&e->op);
  return i == nullptr ? -1 : i->label;
}

std::set<std::int32_t> labels_in(const Expr& e) {
  std::set<std::int32_t> labels;
  for_each_node(e, [&](const ExprNode& n) {
    if (const auto* i = std::get_if<IndexRef>(&n.op)) labels.insert(i->label);
  });
  return labels;
}

Expr with_labels(const Expr& e, const std::vector<Expr>& replacements) {
  if (!e) return e;
  return rewrite(e, [&](const Expr& x) {
    const std::int32_t label = bare_label(x);
    return label < 0 ? x : replacements.at(static_cast<std::size_t>(label));
  });
}

bool mentions_label(const Expr& e, std::int32_t label) { return e && labels_in(e).contains(label); }

bool mentions_labels(const Expr& e, std::size_t first) {
  if (!e) return false;
  const std::set<std::int32_t> labels = labels_in(e);
  return !labels.empty() && static_cast<std::size_t>(*labels.rbegin()) >= first;
}

}  // namespace tdsl::ir
