#include "ir/graph/affine.h"

#include <algorithm>
#include <limits>
#include <set>

#include "ir/graph/check.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/procedure.h"

namespace tdsl::ir {

namespace {

struct Atoms {
  bool labels = false;
  bool quotients = false;  ///< of label-free expressions
};

std::optional<Extent> polynomial(const Expr& e, Atoms atoms) {
  if (e->type != Scalar::kI64) return std::nullopt;
  if (const auto* c = std::get_if<Constant>(&e->op)) return Extent(std::get<std::int64_t>(c->value));
  if (const auto* r = std::get_if<Read>(&e->op)) {
    return r->subscripts.empty() ? std::optional(Extent::of(r->tensor)) : std::nullopt;
  }
  if (const auto* i = std::get_if<IndexRef>(&e->op)) {
    return atoms.labels ? std::optional(Extent::of(label_value(i->label))) : std::nullopt;
  }
  if (const auto* u = std::get_if<Unary>(&e->op)) {
    if (u->op != UnaryOp::kNeg) return std::nullopt;
    const auto operand = polynomial(u->operand, atoms);
    return operand ? std::optional(Extent(0) - *operand) : std::nullopt;
  }
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr) return std::nullopt;
  const bool divides = b->op == BinaryOp::kDiv || b->op == BinaryOp::kRem;
  const Atoms inside{atoms.labels && !divides, atoms.quotients};
  const auto left = polynomial(b->left, inside);
  const auto right = left ? polynomial(b->right, inside) : std::nullopt;
  // A sum of hundreds of scalars is not a size, and would be examined again from each of its operators.
  constexpr std::size_t kMostTerms = 64;
  if (!right || left->terms().size() + right->terms().size() > kMostTerms) return std::nullopt;
  switch (b->op) {
    case BinaryOp::kAdd: return *left + *right;
    case BinaryOp::kSub: return *left - *right;
    case BinaryOp::kMul: return product_if_small(*left, *right);
    case BinaryOp::kDiv: return atoms.quotients ? std::optional(Extent::quotient(*left, *right)) : std::nullopt;
    case BinaryOp::kRem: return atoms.quotients ? std::optional(Extent::remainder(*left, *right)) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<Extent> extent_of(const Expr& e) { return polynomial(e, {}); }
std::optional<Extent> polynomial_of(const Expr& e) { return polynomial(e, {true, false}); }
std::optional<Extent> subscript_polynomial(const Expr& e) { return polynomial(e, {true, true}); }

bool is_linear(const Extent& e) {
  return std::ranges::all_of(e.terms(), [](const auto& term) { return term.first.size() <= 1; });
}

namespace {

Expr expr_of_atom(const Extent::Atom& atom) {
  if (atom.kind == Extent::Atom::Kind::kValue) {
    const std::int32_t id = atom.value.id;
    return id <= label_value(0).id ? index_ref(label_value(0).id - id) : read(Scalar::kI64, atom.value, {});
  }
  const BinaryOp op = atom.kind == Extent::Atom::Kind::kQuotient ? BinaryOp::kDiv : BinaryOp::kRem;
  return binary(op, expr_of_polynomial(atom.numerator), expr_of_polynomial(atom.denominator));
}

/// `factor * atoms`.
Expr expr_of_term(const Extent::Monomial& monomial, std::int64_t factor) {
  Expr product;
  for (const Extent::AtomRef& atom : monomial) {
    product = product ? binary(BinaryOp::kMul, product, expr_of_atom(*atom)) : expr_of_atom(*atom);
  }
  return factor == 1 ? product : binary(BinaryOp::kMul, constant_i64(factor), product);
}

}  // namespace

Expr expr_of_polynomial(const Extent& e) {
  Expr sum;
  std::int64_t constant_term = 0;
  for (const bool positive : {true, false}) {
    for (const auto& [monomial, coefficient] : e.terms()) {
      if (monomial.empty()) constant_term = coefficient;
      if (monomial.empty() || (coefficient > 0) != positive) continue;
      if (positive) {
        const Expr term = expr_of_term(monomial, coefficient);
        sum = sum ? binary(BinaryOp::kAdd, sum, term) : term;
      } else if (sum && coefficient != std::numeric_limits<std::int64_t>::min()) {
        sum = binary(BinaryOp::kSub, sum, expr_of_term(monomial, -coefficient));
      } else {
        const Expr term = expr_of_term(monomial, coefficient);
        sum = sum ? binary(BinaryOp::kAdd, sum, term) : term;
      }
    }
  }
  if (!sum) return constant_i64(constant_term);
  if (constant_term == 0) return sum;
  if (constant_term < 0 && constant_term != std::numeric_limits<std::int64_t>::min()) {
    return binary(BinaryOp::kSub, sum, constant_i64(-constant_term));
  }
  return binary(BinaryOp::kAdd, sum, constant_i64(constant_term));
}

std::optional<LinearForm> linear_in(const Extent& e, ValueId v) {
  LinearForm form;
  const Extent variable = Extent::of(v);
  for (const auto& [monomial, coefficient] : e.terms()) {
    if (monomial.size() == 1 && monomial[0]->kind == Extent::Atom::Kind::kValue && monomial[0]->value == v) {
      form.coefficient = coefficient;
    }
  }
  form.rest = e - Extent(form.coefficient) * variable;
  if (mentions(form.rest, v)) return std::nullopt;
  return form;
}

bool mentions(const Extent& e, ValueId v) {
  const std::vector<ValueId> values = e.values();
  return std::ranges::find(values, v) != values.end();
}

namespace {

Affine scaled_form(Affine form, const Extent& factor) {
  for (Term& t : form.terms) t.coefficient = t.coefficient * factor;
  form.constant = form.constant * factor;
  std::erase_if(form.terms, [](const Term& t) { return t.coefficient == Extent(0); });
  return form;
}

Affine sum_of_forms(const Affine& a, const Affine& b) {
  Affine result = a;
  result.constant = a.constant + b.constant;
  for (const Term& t : b.terms) {
    const auto same = std::ranges::find_if(result.terms, [&](const Term& r) { return r.label == t.label; });
    if (same != result.terms.end()) {
      same->coefficient = same->coefficient + t.coefficient;
    } else {
      result.terms.push_back(t);
    }
  }
  std::erase_if(result.terms, [](const Term& t) { return t.coefficient == Extent(0); });
  std::ranges::sort(result.terms, {}, &Term::label);
  return result;
}

class AffineAnalysis {
 public:
  explicit AffineAnalysis(const Hoist& hoist) : hoist_(hoist) {}

  [[nodiscard]] std::optional<Affine> form(const Expr& e) const {
    const auto found = match(
        e->op,
        [](const Constant& c) -> std::optional<Affine> {
          const auto* value = std::get_if<std::int64_t>(&c.value);
          return value ? std::optional(Affine{{}, Extent(*value)}) : std::nullopt;
        },
        [](const IndexRef& r) -> std::optional<Affine> {
          return Affine{{{r.label, Extent(1)}}, {}};
        },
        [&](const Read& r) -> std::optional<Affine> {
          if (!r.subscripts.empty() || e->type != Scalar::kI64) return std::nullopt;
          const std::optional<ValueId> v = hoist_(e);
          return v ? std::optional(Affine{{}, Extent::of(*v)}) : std::nullopt;
        },
        [](const Argument&) -> std::optional<Affine> { return std::nullopt; },
        [&](const Unary& u) -> std::optional<Affine> {
          if (u.op != UnaryOp::kNeg) return std::nullopt;
          const auto operand = form(u.operand);
          return operand ? std::optional(scaled_form(*operand, Extent(-1))) : std::nullopt;
        },
        [&](const Binary& b) { return binary(b); }, [](const Select&) -> std::optional<Affine> { return std::nullopt; },
        [](const Cast&) -> std::optional<Affine> { return std::nullopt; },
        [](const Apply&) -> std::optional<Affine> { return std::nullopt; });
    if (found || mentions_labels(e)) return found;
    const std::optional<ValueId> v = hoist_(e);
    return v ? std::optional(Affine{{}, Extent::of(*v)}) : std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<Affine> binary(const Binary& b) const {
    const bool linear = b.op == BinaryOp::kAdd || b.op == BinaryOp::kSub || b.op == BinaryOp::kMul;
    const bool quotient = b.op == BinaryOp::kDiv || b.op == BinaryOp::kRem;
    if (!linear && !quotient) return std::nullopt;
    const auto left = form(b.left);
    const auto right = left ? form(b.right) : std::nullopt;
    if (!left || !right) return std::nullopt;
    if (b.op == BinaryOp::kAdd) return sum_of_forms(*left, *right);
    if (b.op == BinaryOp::kSub) return sum_of_forms(*left, scaled_form(*right, Extent(-1)));
    if (b.op == BinaryOp::kMul) {
      if (right->terms.empty()) return scaled_form(*left, right->constant);
      if (left->terms.empty()) return scaled_form(*right, left->constant);
      return std::nullopt;
    }
    const auto divisor = right->constant.constant();
    if (!left->terms.empty() || !right->terms.empty() || !divisor || *divisor == 0) return std::nullopt;
    return Affine{{},
                  b.op == BinaryOp::kDiv ? Extent::quotient(left->constant, right->constant)
                                         : Extent::remainder(left->constant, right->constant)};
  }

  const Hoist& hoist_;
};

}  // namespace

std::optional<ValueId> read_scalar(const Expr& e) {
  const auto* r = std::get_if<Read>(&e->op);
  return r != nullptr && r->subscripts.empty() && e->type == Scalar::kI64 ? std::optional(r->tensor) : std::nullopt;
}

std::optional<Affine> affine_of(const Expr& e, const Hoist& hoist) { return AffineAnalysis(hoist).form(e); }

std::optional<QuotientForm> quotient_of(const Expr& e, const Hoist& hoist) {
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr || b->op != BinaryOp::kDiv || e->type != Scalar::kI64) return std::nullopt;
  auto numerator = affine_of(b->left, hoist);
  const auto divisor = affine_of(b->right, hoist);
  if (!numerator || numerator->terms.empty() || !divisor || !divisor->terms.empty()) return std::nullopt;
  return QuotientForm{std::move(*numerator), divisor->constant};
}

bool is_data_subscript(const Read& read, std::size_t d, const Hoist& hoist) {
  const Expr& e = read.subscripts[d];
  if (affine_of(e, hoist) || quotient_of(e, hoist)) return false;
  // The image of a position is near the position.
  const auto* b = std::get_if<Binary>(&e->op);
  if (b != nullptr && is_boundary(b->op)) {
    const auto position = affine_of(b->left, hoist);
    if (position &&
        std::ranges::all_of(position->terms, [](const Term& t) { return t.coefficient.constant().has_value(); }))
      return false;
  }
  // i % m next to i / m: the quotients of a task leave at most the rows at its ends undetermined.
  const bool reads = any_read(e, [](const Read& r) { return !r.subscripts.empty(); });
  for (std::size_t k = 0; k < d && !reads; ++k) {
    if (quotient_of(read.subscripts[k], hoist)) return false;
  }
  return true;
}

bool may_fail(const Expr& e) { return any_node(e, operation_may_fail); }

bool reads_each_label_once(const Read& r) {
  std::set<ValueId> seen;
  for (const Expr& subscript : r.subscripts) {
    const auto polynomial = subscript_polynomial(subscript);
    if (!polynomial) return false;
    for (const auto& [monomial, coefficient] : polynomial->terms()) {
      int labels = 0;
      for (const Extent::AtomRef& atom : monomial) {
        if (atom->kind != Extent::Atom::Kind::kValue || atom->value.id > label_value(0).id) continue;
        ++labels;
        if (!seen.insert(atom->value).second) return false;
      }
      if (labels > 1 || (labels == 1 && coefficient < 0)) return false;
    }
  }
  return true;
}

}  // namespace tdsl::ir
