#include "ir/graph/extent_facts.h"

#include <algorithm>

#include "ir/graph/clone.h"

namespace tdsl::ir {

namespace {

AffineExpr constant_form(Extent offset) { return {{}, std::move(offset)}; }

/// Nothing if a coefficient exceeds 64 bits: conclusions from coefficients hold for numbers that do not wrap around.
std::optional<AffineExpr> scaled_exactly(const AffineExpr& a, std::int64_t factor) {
  AffineExpr result{{}, a.offset * Extent(factor)};
  for (const auto& [label, coefficient] : a.coefficients) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(coefficient, factor, &product)) return std::nullopt;
    if (product != 0) result.coefficients[label] = product;
  }
  return result;
}

/// The same for a sum.
std::optional<AffineExpr> added(AffineExpr a, const AffineExpr& b) {
  a.offset = a.offset + b.offset;
  for (const auto& [label, coefficient] : b.coefficients) {
    std::int64_t& sum = a.coefficients[label];
    if (__builtin_add_overflow(sum, coefficient, &sum)) return std::nullopt;
    if (sum == 0) a.coefficients.erase(label);
  }
  return a;
}

std::optional<AffineExpr> product(const AffineExpr& a, const AffineExpr& b) {
  if (const auto c = b.offset.constant(); c && b.coefficients.empty()) return scaled_exactly(a, *c);
  if (const auto c = a.offset.constant(); c && a.coefficients.empty()) return scaled_exactly(b, *c);
  if (!a.coefficients.empty() || !b.coefficients.empty()) return std::nullopt;
  const auto small = product_if_small(a.offset, b.offset);
  return small ? std::optional(constant_form(*small)) : std::nullopt;
}

std::optional<AffineExpr> affine_binary(const Binary& b, const ValueExtent& value_extent) {
  const auto left = affine_in_labels(b.left, value_extent);
  const auto right = left ? affine_in_labels(b.right, value_extent) : std::nullopt;
  if (!right) return std::nullopt;
  switch (b.op) {
    case BinaryOp::kAdd: return added(*left, *right);
    case BinaryOp::kSub: {
      const auto negative = scaled_exactly(*right, -1);
      return negative ? added(*left, *negative) : std::nullopt;
    }
    case BinaryOp::kMul: return product(*left, *right);
    case BinaryOp::kDiv:
    case BinaryOp::kRem:
      if (!left->coefficients.empty() || !right->coefficients.empty()) return std::nullopt;
      return constant_form(b.op == BinaryOp::kDiv ? Extent::quotient(left->offset, right->offset)
                                                  : Extent::remainder(left->offset, right->offset));
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<AffineExpr> affine_in_labels(const Expr& e, const ValueExtent& value_extent) {
  if (e->type != Scalar::kI64) return std::nullopt;
  if (const auto* c = std::get_if<Constant>(&e->op)) return constant_form(std::get<std::int64_t>(c->value));
  if (const auto* i = std::get_if<IndexRef>(&e->op)) return AffineExpr{{{i->label, 1}}, {}};
  if (const auto* r = std::get_if<Read>(&e->op); r != nullptr && r->subscripts.empty())
    return constant_form(value_extent(r->tensor));
  if (const auto* u = std::get_if<Unary>(&e->op); u != nullptr && u->op == UnaryOp::kNeg) {
    const auto operand = affine_in_labels(u->operand, value_extent);
    return operand ? scaled_exactly(*operand, -1) : std::nullopt;
  }
  const auto* b = std::get_if<Binary>(&e->op);
  return b == nullptr ? std::nullopt : affine_binary(*b, value_extent);
}

ExtentFacts::ExtentFacts(const Program& program) {
  learn(program.body);
  learn_sizes(program.body);
}

/// Params that are sizes are checked at the start of the program.
void ExtentFacts::learn_sizes(const Region& body) {
  for (const Node& n : body.nodes) {
    const auto* check = std::get_if<Check>(&n.op);
    if (check == nullptr && (is_effect(n) || !regions_in(n).empty())) return;
    const bool sizes = check != nullptr && check->relation == Check::Relation::kAtMost && !check->guard;
    const auto size = sizes && check->left == Extent(0) ? check->right.as_value() : std::nullopt;
    if (size) sizes_.insert(*size);
  }
}

void ExtentFacts::learn(const Region& region) {
  for_each_node(region, [this](const Node& node) {
    if (std::holds_alternative<Dimension>(node.op) || std::holds_alternative<Found>(node.op))
      sizes_.insert(node.results[0]);
    if (const auto* check = std::get_if<Check>(&node.op); check != nullptr && check->may_move())
      zeros_.push_back(check->left - check->right);
    const auto* c = std::get_if<Compute>(&node.op);
    const bool scalar = c != nullptr && c->out.empty() && c->reduce.empty() && c->left.empty() && !c->guard &&
                        c->bodies.size() == 1 && c->bodies[0]->type == Scalar::kI64;
    if (!scalar) return;
    if (const auto form = affine(c->bodies[0])) value_extents_.emplace(node.results[0], form->offset);
  });
}

Extent ExtentFacts::of_value(ValueId v) const {
  const auto found = value_extents_.find(v);
  return found == value_extents_.end() ? Extent::of(v) : found->second;
}

bool ExtentFacts::same(const Extent& a, const Extent& b) const {
  const Extent difference = a - b;
  if (difference == Extent()) return true;
  return std::ranges::any_of(zeros_,
                             [&](const Extent& zero) { return difference == zero || difference == Extent() - zero; });
}

bool ExtentFacts::never_negative(const Extent& e) const {
  return std::ranges::all_of(e.terms(), [this](const auto& term) {
    return term.second >= 0 && std::ranges::all_of(term.first, [this](const Extent::AtomRef& atom) {
             return atom->kind == Extent::Atom::Kind::kValue && sizes_.contains(atom->value);
           });
  });
}

}  // namespace tdsl::ir
