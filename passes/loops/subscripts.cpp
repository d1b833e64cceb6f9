#include "passes/loops/subscripts.h"

#include <algorithm>

#include "ir/graph/affine.h"
#include "ir/graph/expr_build.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool equal_atoms(const Extent::Atom& a, const Extent::Atom& b) {
  return a.kind == b.kind && a.value == b.value && a.numerator == b.numerator && a.denominator == b.denominator;
}

/// A polynomial of sizes.
std::optional<Extent> size_of(const Expr& e) { return mentions_labels(e) ? std::nullopt : subscript_polynomial(e); }

/// The atom of an extent that is a single atom, else null.
const Extent::Atom* lone_atom(const Extent& e) {
  if (e.terms().size() != 1) return nullptr;
  const auto& [monomial, coefficient] = *e.terms().begin();
  return coefficient == 1 && monomial.size() == 1 ? monomial[0].get() : nullptr;
}

Extent atom_extent(const Extent::Atom& atom) {
  switch (atom.kind) {
    case Extent::Atom::Kind::kValue: return Extent::of(atom.value);
    case Extent::Atom::Kind::kQuotient: return Extent::quotient(atom.numerator, atom.denominator);
    case Extent::Atom::Kind::kRemainder: return Extent::remainder(atom.numerator, atom.denominator);
  }
  return {};
}

Extent term_extent(const Extent::Monomial& monomial, std::int64_t coefficient) {
  Extent product = coefficient;
  for (const Extent::AtomRef& atom : monomial) product = product * atom_extent(*atom);
  return product;
}

/// The term divided by the divisor; nullopt unless the divisor is a product that divides it.
std::optional<Extent> exact_quotient(const Extent::Monomial& monomial, std::int64_t coefficient,
                                     const Extent::Monomial& divisor, std::int64_t number) {
  if (coefficient % number != 0) return std::nullopt;
  Extent::Monomial rest = monomial;
  for (const Extent::AtomRef& atom : divisor) {
    const auto found = std::ranges::find_if(rest, [&](const Extent::AtomRef& a) { return equal_atoms(*a, *atom); });
    if (found == rest.end()) return std::nullopt;
    rest.erase(found);
  }
  return term_extent(rest, coefficient / number);
}

bool has_atom(const Extent::Monomial& monomial, const Extent::Atom& atom) {
  return std::ranges::any_of(monomial, [&](const Extent::AtomRef& a) { return equal_atoms(*a, atom); });
}

/// True if every term of the extent contains the atom.
bool is_multiple(const Extent& e, const Extent::Atom& atom) {
  return std::ranges::all_of(e.terms(), [&](const auto& term) { return has_atom(term.first, atom); });
}

bool contains(const std::vector<Extent>& atoms, const Extent::Atom& atom) {
  return std::ranges::any_of(atoms, [&](const Extent& e) { return equal_atoms(*lone_atom(e), atom); });
}

/// The first quotient among the atoms.
const Extent::Atom* first_quotient(const Extent& e) {
  for (const auto& [monomial, coefficient] : e.terms()) {
    for (const Extent::AtomRef& atom : monomial) {
      if (atom->kind == Extent::Atom::Kind::kQuotient) return atom.get();
    }
  }
  return nullptr;
}

}  // namespace

std::optional<Extent> exact_quotient(const Extent& e, const Extent& divisor) {
  if (divisor.terms().size() != 1) return std::nullopt;
  const auto& [monomial, number] = *divisor.terms().begin();
  Extent quotient;
  for (const auto& [atoms, coefficient] : e.terms()) {
    const auto term = exact_quotient(atoms, coefficient, monomial, number);
    if (!term) return std::nullopt;
    quotient = quotient + *term;
  }
  return quotient;
}

Subscripts::Subscripts(const Type& tensor, const std::vector<const Label*>& labels) : labels_(labels) {
  for (const Extent& e : tensor.shape) {
    const Extent::Atom* atom = lone_atom(e);
    if (atom == nullptr) continue;
    const bool nonzero = std::ranges::any_of(
        labels, [&](const Label* l) { return l->begin == Extent(0) && is_multiple(l->end, *atom); });
    (nonzero ? positive_ : not_negative_).push_back(e);
  }
  for (const Label* l : labels) {
    if (l->begin == Extent(0) && lone_atom(l->end) != nullptr) positive_.push_back(l->end);
  }
}

const Label* Subscripts::label_of(const Extent::Atom& atom) const {
  if (atom.kind != Extent::Atom::Kind::kValue || atom.value.id > label_value(0).id) return nullptr;
  const auto number = static_cast<std::size_t>(label_value(0).id - atom.value.id);
  return number < labels_.size() ? labels_[number] : nullptr;
}

bool Subscripts::is_positive(const Extent::Atom& atom) const { return contains(positive_, atom); }

bool Subscripts::is_positive(const Extent& product) const {
  if (product.terms().size() != 1) return false;
  const auto& [monomial, coefficient] = *product.terms().begin();
  return coefficient > 0 && std::ranges::all_of(monomial, [this](const Extent::AtomRef& a) { return is_positive(*a); });
}

bool Subscripts::never_negative_as_written(const Extent& e) const {
  // Rewrites a positive size as 1 plus a nonnegative number.
  Extent sum;
  for (const auto& [monomial, coefficient] : e.terms()) {
    Extent product = coefficient;
    for (const Extent::AtomRef& atom : monomial)
      product = product * (atom_extent(*atom) + Extent(is_positive(*atom) ? 1 : 0));
    sum = sum + product;
  }
  return std::ranges::all_of(sum.terms(), [this](const auto& term) {
    return term.second >= 0 && std::ranges::all_of(term.first, [this](const Extent::AtomRef& a) {
             return is_positive(*a) || contains(not_negative_, *a);
           });
  });
}

bool Subscripts::never_negative(const Extent& e) const {
  if (const auto number = e.constant()) return *number >= 0;
  if (degree_of(e) > 8 || e.terms().size() > 16) return false;
  if (never_negative_as_written(e)) return true;
  // x / c * c <= x for nonnegative x and c.
  const Extent::Atom* quotient = first_quotient(e);
  if (quotient == nullptr || !is_positive(quotient->denominator) || !never_negative_as_written(quotient->numerator))
    return false;
  return never_negative_as_written(e - (quotient->numerator - quotient->denominator * atom_extent(*quotient)));
}

std::optional<Subscripts::Hull> Subscripts::hull_of(const Extent& polynomial) const {
  Hull hull;
  for (const auto& [monomial, coefficient] : polynomial.terms()) {
    const Label* label = nullptr;
    Extent factor = coefficient;
    bool sizes = true;
    for (const Extent::AtomRef& atom : monomial) {
      const Label* here = label_of(*atom);
      if (here != nullptr && label != nullptr) return std::nullopt;
      label = here != nullptr ? here : label;
      if (here != nullptr) continue;
      sizes = sizes && (is_positive(*atom) || contains(not_negative_, *atom));
      factor = factor * atom_extent(*atom);
    }
    if (label == nullptr) {
      hull.lowest = hull.lowest + factor;
      hull.highest = hull.highest + factor;
      continue;
    }
    if (!sizes) return std::nullopt;
    const Extent first = factor * label->begin;
    const Extent last = factor * (label->end - Extent(1));
    hull.lowest = hull.lowest + (coefficient > 0 ? first : last);
    hull.highest = hull.highest + (coefficient > 0 ? last : first);
  }
  return hull;
}

Expr Subscripts::settled(const Expr& e) const {
  return rewrite(e, [&](const Expr& x) {
    const auto* b = std::get_if<Binary>(&x->op);
    if (b == nullptr || x->type != Scalar::kI64) return x;
    if (b->op == BinaryOp::kMod || is_boundary(b->op)) {
      const auto size = size_of(b->right);
      return size && inside(b->left, *size) ? b->left : x;
    }
    return b->op == BinaryOp::kDiv || b->op == BinaryOp::kRem ? settled(x, *b) : x;
  });
}

Expr Subscripts::settled(const Expr& whole, const Binary& b) const {
  const auto dividend = subscript_polynomial(b.left);
  const auto divisor = size_of(b.right);
  if (!dividend || !divisor || !is_positive(*divisor)) return whole;
  const auto& [monomial, number] = *divisor->terms().begin();
  Extent quotient, rest;
  for (const auto& [atoms, coefficient] : dividend->terms()) {
    if (const auto exact = exact_quotient(atoms, coefficient, monomial, number)) {
      quotient = quotient + *exact;
    } else {
      rest = rest + term_extent(atoms, coefficient);
    }
  }
  const auto hull = hull_of(rest);
  const auto all = hull ? hull_of(*dividend) : std::nullopt;
  // C division equals floor division for nonnegative operands.
  if (!all || !never_negative(all->lowest) || !never_negative(hull->lowest) ||
      !never_negative(*divisor - Extent(1) - hull->highest))
    return whole;
  return expr_of_polynomial(b.op == BinaryOp::kDiv ? quotient : rest);
}

bool Subscripts::never_negative(const Expr& e) const {
  if (const auto polynomial = subscript_polynomial(e)) {
    const auto hull = hull_of(*polynomial);
    return hull && never_negative(hull->lowest);
  }
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr || (b->op != BinaryOp::kDiv && b->op != BinaryOp::kRem)) return false;
  const auto divisor = size_of(b->right);
  return divisor && is_positive(*divisor) && never_negative(b->left);
}

bool Subscripts::inside(const Expr& e, const Extent& extent) const {
  if (const auto polynomial = subscript_polynomial(e)) {
    const auto hull = hull_of(*polynomial);
    return hull && never_negative(hull->lowest) && never_negative(extent - Extent(1) - hull->highest);
  }
  const auto* b = std::get_if<Binary>(&e->op);
  const bool divides = b != nullptr && (b->op == BinaryOp::kDiv || b->op == BinaryOp::kRem);
  const auto divisor = divides ? size_of(b->right) : std::nullopt;
  if (!divisor || !is_positive(*divisor) || degree_of(extent) > 8) return false;
  if (b->op == BinaryOp::kRem) return never_negative(b->left) && never_negative(extent - *divisor);
  return inside(b->left, extent * *divisor);
}

namespace {

/// A polynomial that the comparison requires to be nonnegative; nullopt for other conditions.
std::optional<Extent> not_negative_by(const Expr& condition) {
  const auto* b = std::get_if<Binary>(&condition->op);
  if (b == nullptr || b->left->type != Scalar::kI64) return std::nullopt;
  const auto left = subscript_polynomial(b->left);
  const auto right = subscript_polynomial(b->right);
  if (!left || !right) return std::nullopt;
  switch (b->op) {
    case BinaryOp::kLe: return *right - *left;
    case BinaryOp::kLt: return *right - *left - Extent(1);
    case BinaryOp::kGe: return *left - *right;
    case BinaryOp::kGt: return *left - *right - Extent(1);
    default: return std::nullopt;
  }
}

bool implied_not_negative(const Extent& e, const std::vector<Expr>& conditions) {
  return std::ranges::any_of(conditions, [&](const Expr& condition) {
    const auto known = not_negative_by(condition);
    const auto more = known ? (e - *known).constant() : std::nullopt;
    return more && *more >= 0;
  });
}

}  // namespace

bool Subscripts::inside(const Expr& e, const Extent& extent, const std::vector<Expr>& conditions) const {
  if (inside(e, extent)) return true;
  const auto position = conditions.empty() ? std::nullopt : subscript_polynomial(e);
  if (!position) return false;
  const auto hull = hull_of(*position);
  const Extent room = extent - Extent(1);
  return ((hull && never_negative(hull->lowest)) || implied_not_negative(*position, conditions)) &&
         ((hull && never_negative(room - hull->highest)) || implied_not_negative(room - *position, conditions));
}

Expr with_settled_subscripts(const Program& program, const Expr& e, const std::vector<const Label*>& labels) {
  if (!e) return e;
  return rewrite(e, [&](const Expr& x) {
    const auto* r = std::get_if<Read>(&x->op);
    if (r == nullptr || r->subscripts.empty()) return x;
    const Subscripts known(program.type(r->tensor), labels);
    std::vector<Expr> subscripts;
    for (const Expr& s : r->subscripts) subscripts.push_back(known.settled(s));
    return with_children(x, subscripts);
  });
}

std::vector<const Label*> labels_of(const Compute& c) {
  std::vector<const Label*> labels;
  for (const auto* list : {&c.out, &c.reduce}) {
    for (const Label& l : *list) labels.push_back(&l);
  }
  return labels;
}

bool divides_labels(const Expr& e) {
  return any_node(e, [](const ExprNode& n) {
    const auto* b = std::get_if<Binary>(&n.op);
    return b != nullptr && (b->op == BinaryOp::kDiv || b->op == BinaryOp::kRem) &&
           (mentions_labels(b->left) || mentions_labels(b->right));
  });
}

}  // namespace tdsl::passes
