#include "frontend/sema/tensor.h"

#include <algorithm>

#include "ir/graph/check.h"
#include "ir/graph/within.h"

namespace tdsl::frontend {

Tensor scalar_tensor(Expr body, Weak weak) {
  Tensor t;
  t.range = body->range;
  t.body = std::move(body);
  t.weak = weak;
  return t;
}

Expr substitute(const Expr& e, const LabelMap& labels) {
  if (!e || labels.empty()) return e;
  return ir::rewrite(e, [&](const Expr& part) {
    if (const auto* index = std::get_if<ir::IndexRef>(&part->op)) {
      const auto found = labels.find(index->label);
      return found == labels.end() ? part : found->second;
    }
    // Rebuilds the expression to fold constants.
    if (const auto* s = std::get_if<ir::Select>(&part->op); s != nullptr && literal_of(s->condition) != nullptr) {
      return ir::select(s->condition, s->when_true, s->when_false, part->range);
    }
    const auto* b = std::get_if<ir::Binary>(&part->op);
    const bool folds = b != nullptr && (part->type == Scalar::kI64 || part->type == Scalar::kBool) &&
                       (literal_of(b->left) != nullptr || literal_of(b->right) != nullptr);
    return folds ? ir::binary(b->op, b->left, b->right, part->range) : part;
  });
}

Expr element(const Tensor& t, const std::vector<Expr>& subscripts) {
  TDSL_CHECK(subscripts.size() == t.rank(), "an element needs one subscript per dimension");
  LabelMap map;
  for (std::size_t d = 0; d < t.rank(); ++d) {
    const auto* index = std::get_if<ir::IndexRef>(&subscripts[d]->op);
    if (index == nullptr || index->label != t.labels[d]) map.emplace(t.labels[d], subscripts[d]);
  }
  return substitute(t.body, map);
}

std::size_t operations_of(const Expr& e, std::size_t most) {
  std::vector<Expr> open = {e};
  std::size_t count = 0;
  while (!open.empty() && count < most) {
    const Expr next = open.back();
    open.pop_back();
    ++count;
    for (const Expr& child : ir::children(*next)) open.push_back(child);
  }
  return count;
}

std::vector<std::int32_t> labels_of(const Expr& e) {
  std::vector<std::int32_t> found;
  if (!e) return found;
  ir::for_each_node(e, [&](const ir::ExprNode& node) {
    const auto* index = std::get_if<ir::IndexRef>(&node.op);
    if (index != nullptr && std::ranges::find(found, index->label) == found.end()) found.push_back(index->label);
  });
  return found;
}

void for_each_certain_node(const Expr& e, const std::function<void(const Expr&)>& f) {
  const auto* b = std::get_if<ir::Binary>(&e->op);
  if (const auto* select = std::get_if<ir::Select>(&e->op)) {
    for_each_certain_node(select->condition, f);
    if (ir::within_of(e)) for_each_certain_node(select->when_true, f);
  } else if (b != nullptr && ir::is_logical(b->op)) {
    for_each_certain_node(b->left, f);
  } else {
    for (const Expr& child : ir::children(*e)) for_each_certain_node(child, f);
  }
  f(e);
}

void for_each_certain_read(const Expr& e, const std::function<void(const ir::ExprNode&, const ir::Read&)>& f) {
  for_each_certain_node(e, [&](const Expr& part) {
    if (const auto* read = std::get_if<ir::Read>(&part->op)) f(*part, *read);
  });
}

std::optional<ir::ValueId> whole_value(const Tensor& t) {
  const auto* read = std::get_if<ir::Read>(&t.body->op);
  if (read == nullptr || t.padded || read->subscripts.size() != t.rank()) return std::nullopt;
  for (std::size_t d = 0; d < t.rank(); ++d) {
    const auto* index = std::get_if<ir::IndexRef>(&read->subscripts[d]->op);
    if (index == nullptr || index->label != t.labels[d]) return std::nullopt;
  }
  return read->tensor;
}

const ir::Literal* literal_of(const Expr& e) {
  const auto* c = std::get_if<ir::Constant>(&e->op);
  return c == nullptr ? nullptr : &c->value;
}

std::optional<std::int64_t> integer_constant(const Expr& e) {
  const ir::Literal* literal = literal_of(e);
  if (literal == nullptr || !ir::is_integer(e->type)) return std::nullopt;
  return std::get<std::int64_t>(*literal);
}

Expr add(const Expr& a, const Expr& b) { return ir::binary(BinaryOp::kAdd, a, b, a->range); }
Expr sub(const Expr& a, const Expr& b) { return ir::binary(BinaryOp::kSub, a, b, a->range); }
Expr mul(const Expr& a, const Expr& b) { return ir::binary(BinaryOp::kMul, a, b, a->range); }

Expr both(const Expr& a, const Expr& b) {
  if (!a) return b;
  if (!b) return a;
  return ir::binary(BinaryOp::kAnd, a, b, a->range);
}

namespace {

Expr atom_expr(const ir::Program& program, const Extent::Atom& atom) {
  switch (atom.kind) {
    case Extent::Atom::Kind::kValue:
      return ir::cast(Scalar::kI64, ir::read(program.type(atom.value).scalar, atom.value, {}));
    case Extent::Atom::Kind::kQuotient:
      return ir::binary(BinaryOp::kDiv, expr_of(program, atom.numerator), expr_of(program, atom.denominator));
    case Extent::Atom::Kind::kRemainder:
      return ir::binary(BinaryOp::kRem, expr_of(program, atom.numerator), expr_of(program, atom.denominator));
  }
  TDSL_CHECK(false, "unknown atom");
  return {};
}

}  // namespace

Expr expr_of(const ir::Program& program, const Extent& e) {
  Expr total;
  for (const auto& [monomial, coefficient] : e.terms()) {
    // `n - 1` reads better than `-1 + n` and `n + -1`.
    const bool negative = coefficient < 0 && total;
    const std::int64_t factor = negative ? -coefficient : coefficient;
    Expr product;
    for (const auto& atom : monomial)
      product = product ? mul(product, atom_expr(program, *atom)) : atom_expr(program, *atom);
    if (!product) {
      product = ir::constant_i64(factor);
    } else if (factor != 1) {
      product = mul(ir::constant_i64(factor), product);
    }
    total = !total ? product : negative ? sub(total, product) : add(total, product);
  }
  return total ? total : ir::constant_i64(0);
}

std::optional<Extent> extent_of(const Expr& e, const ValueExtent& value_extent) {
  const auto affine = ir::affine_in_labels(e, value_extent);
  if (!affine || !affine->coefficients.empty()) return std::nullopt;
  return affine->offset;
}

}  // namespace tdsl::frontend
