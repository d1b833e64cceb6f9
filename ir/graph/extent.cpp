#include "ir/graph/extent.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "ir/graph/check.h"

namespace tdsl::ir {

namespace {

using Atom = Extent::Atom;
using AtomRef = Extent::AtomRef;
using Monomial = Extent::Monomial;

// Coefficients wrap like the i64 arithmetic they represent.
std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
// INT64_MIN / -1 traps on hardware; it wraps here.
std::int64_t quotient_of(std::int64_t a, std::int64_t b) { return b == -1 ? wrap_mul(a, -1) : a / b; }
std::int64_t remainder_of(std::int64_t a, std::int64_t b) { return b == -1 ? 0 : a % b; }

int order(const Extent& a, const Extent& b);

int order(const Atom& a, const Atom& b) {
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.kind == Atom::Kind::kValue) return a.value == b.value ? 0 : (a.value < b.value ? -1 : 1);
  const int first = order(a.numerator, b.numerator);
  return first != 0 ? first : order(a.denominator, b.denominator);
}

/// Higher degrees come first, so the constant term is printed last.
int order(const Monomial& a, const Monomial& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k]) continue;
    if (const int result = order(*a[k], *b[k]); result != 0) return result;
  }
  return 0;
}

int order(const Extent& a, const Extent& b) {
  auto left = a.terms().begin();
  auto right = b.terms().begin();
  for (; left != a.terms().end() && right != b.terms().end(); ++left, ++right) {
    if (const int result = order(left->first, right->first); result != 0) return result;
    if (left->second != right->second) return left->second < right->second ? -1 : 1;
  }
  if (left == a.terms().end()) return right == b.terms().end() ? 0 : -1;
  return 1;
}

void add_term(Extent::Terms& terms, const Monomial& monomial, std::int64_t coefficient) {
  const auto place = terms.try_emplace(monomial, 0).first;
  place->second = wrap_add(place->second, coefficient);
  if (place->second == 0) terms.erase(place);
}

void collect_values(const Extent& e, std::set<ValueId>& values) {
  for (const auto& [monomial, coefficient] : e.terms()) {
    for (const AtomRef& atom : monomial) {
      if (atom->kind == Atom::Kind::kValue) {
        values.insert(atom->value);
      } else {
        collect_values(atom->numerator, values);
        collect_values(atom->denominator, values);
      }
    }
  }
}

/// True if every coefficient of `a` is a multiple of `divisor`, which is not 0.
bool divides(const Extent& a, std::int64_t divisor) {
  return std::ranges::all_of(a.terms(), [&](const auto& t) { return remainder_of(t.second, divisor) == 0; });
}

std::string print_atom(const Atom& atom, const std::function<std::string(ValueId)>& name);

/// `n`, `7` or a parenthesised sum or product: an operand of `*`, `/` and `%`.
std::string print_operand(const Extent& e, const std::function<std::string(ValueId)>& name) {
  const auto constant = e.constant();
  if (e.as_value() || (constant && *constant >= 0)) return e.to_string(name);
  return "(" + e.to_string(name) + ")";
}

std::string print_atom(const Atom& atom, const std::function<std::string(ValueId)>& name) {
  if (atom.kind == Atom::Kind::kValue) return name(atom.value);
  const char* op = atom.kind == Atom::Kind::kQuotient ? "/" : "%";
  return print_operand(atom.numerator, name) + op + print_operand(atom.denominator, name);
}

/// A term without its sign; `magnitude` is the coefficient's.
std::string print_term(const Monomial& monomial, std::uint64_t magnitude,
                       const std::function<std::string(ValueId)>& name) {
  if (monomial.empty()) return std::to_string(magnitude);
  const bool alone = magnitude == 1 && monomial.size() == 1;
  std::string text = magnitude == 1 ? "" : std::to_string(magnitude);
  for (const AtomRef& atom : monomial) {
    if (!text.empty()) text += '*';
    const bool bare = alone || atom->kind == Atom::Kind::kValue;
    text += bare ? print_atom(*atom, name) : "(" + print_atom(*atom, name) + ")";
  }
  return text;
}

}  // namespace

bool Extent::MonomialLess::operator()(const Monomial& a, const Monomial& b) const { return order(a, b) < 0; }

Extent::Extent(std::int64_t constant) {
  if (constant != 0) terms_.emplace(Monomial{}, constant);
}

Extent Extent::of_atom(Atom atom) {
  Extent e;
  e.terms_.emplace(Monomial{std::make_shared<const Atom>(std::move(atom))}, 1);
  return e;
}

Extent Extent::of(ValueId v) { return of_atom({Atom::Kind::kValue, v, {}, {}}); }

Extent operator+(const Extent& a, const Extent& b) {
  Extent sum = a;
  for (const auto& [monomial, coefficient] : b.terms_) add_term(sum.terms_, monomial, coefficient);
  return sum;
}

Extent operator-(const Extent& a, const Extent& b) {
  Extent difference = a;
  for (const auto& [monomial, coefficient] : b.terms_) {
    add_term(difference.terms_, monomial, wrap_mul(coefficient, -1));
  }
  return difference;
}

Extent operator*(const Extent& a, const Extent& b) {
  Extent product;
  for (const auto& [left, left_coefficient] : a.terms_) {
    for (const auto& [right, right_coefficient] : b.terms_) {
      Monomial monomial = left;
      monomial.insert(monomial.end(), right.begin(), right.end());
      std::ranges::sort(monomial, [](const AtomRef& x, const AtomRef& y) { return order(*x, *y) < 0; });
      add_term(product.terms_, monomial, wrap_mul(left_coefficient, right_coefficient));
    }
  }
  return product;
}

std::size_t degree_of(const Extent& e) {
  std::size_t degree = 0;
  for (const auto& [monomial, coefficient] : e.terms()) degree = std::max(degree, monomial.size());
  return degree;
}

namespace {

constexpr std::size_t kMostTerms = 256;
constexpr std::size_t kHighestDegree = 24;

}  // namespace

std::optional<Extent> product_if_small(const Extent& a, const Extent& b) {
  if (a.terms().size() * b.terms().size() > kMostTerms || degree_of(a) + degree_of(b) > kHighestDegree)
    return std::nullopt;
  return a * b;
}

Extent Extent::quotient(const Extent& a, const Extent& b) {
  const auto divisor = b.constant();
  if (divisor && *divisor != 0) {
    if (const auto dividend = a.constant()) return quotient_of(*dividend, *divisor);
    if (divides(a, *divisor)) {
      Extent result;
      for (const auto& [monomial, coefficient] : a.terms_) {
        result.terms_.emplace(monomial, quotient_of(coefficient, *divisor));
      }
      return result;
    }
  }
  return of_atom({Atom::Kind::kQuotient, {}, a, b});
}

Extent Extent::remainder(const Extent& a, const Extent& b) {
  const auto divisor = b.constant();
  if (divisor && *divisor != 0) {
    if (const auto dividend = a.constant()) return remainder_of(*dividend, *divisor);
    if (divides(a, *divisor)) return {};
  }
  return of_atom({Atom::Kind::kRemainder, {}, a, b});
}

bool operator==(const Extent& a, const Extent& b) { return order(a, b) == 0; }

std::optional<std::int64_t> Extent::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() > 1 || !terms_.begin()->first.empty()) return std::nullopt;
  return terms_.begin()->second;
}

std::optional<ValueId> Extent::as_value() const {
  if (terms_.size() != 1) return std::nullopt;
  const auto& [monomial, coefficient] = *terms_.begin();
  if (coefficient != 1 || monomial.size() != 1 || monomial[0]->kind != Atom::Kind::kValue) return std::nullopt;
  return monomial[0]->value;
}

std::vector<ValueId> Extent::values() const {
  std::set<ValueId> found;
  collect_values(*this, found);
  return {found.begin(), found.end()};
}

namespace {

std::int64_t atom_value(const Atom& atom, const std::function<std::int64_t(ValueId)>& value) {
  if (atom.kind == Atom::Kind::kValue) return value(atom.value);
  const std::int64_t numerator = atom.numerator.evaluate(value);
  const std::int64_t denominator = atom.denominator.evaluate(value);
  if (denominator == 0) throw std::domain_error("integer division by zero");
  return atom.kind == Atom::Kind::kQuotient ? quotient_of(numerator, denominator)
                                            : remainder_of(numerator, denominator);
}

}  // namespace

std::int64_t Extent::evaluate(const std::function<std::int64_t(ValueId)>& value) const {
  std::int64_t sum = 0;
  for (const auto& [monomial, coefficient] : terms_) {
    std::int64_t product = coefficient;
    for (const AtomRef& atom : monomial) product = wrap_mul(product, atom_value(*atom, value));
    sum = wrap_add(sum, product);
  }
  return sum;
}

rt::Exact Extent::evaluate_exactly(const std::function<std::int64_t(ValueId)>& value) const {
  rt::Exact sum = 0;
  for (const auto& [monomial, coefficient] : terms_) {
    rt::Exact product = coefficient;
    for (const AtomRef& atom : monomial) product = product * atom_value(*atom, value);
    sum = sum + product;
  }
  return sum;
}

Extent Extent::substitute(const std::function<std::optional<Extent>(ValueId)>& f) const {
  const auto replaced = [&](const AtomRef& atom) {
    switch (atom->kind) {
      case Atom::Kind::kValue: return f(atom->value).value_or(of(atom->value));
      case Atom::Kind::kQuotient: return quotient(atom->numerator.substitute(f), atom->denominator.substitute(f));
      case Atom::Kind::kRemainder: return remainder(atom->numerator.substitute(f), atom->denominator.substitute(f));
    }
    TDSL_CHECK(false, "unknown atom");
    return Extent();
  };
  Extent sum;
  for (const auto& [monomial, coefficient] : terms_) {
    Extent product = coefficient;
    for (const AtomRef& atom : monomial) product = product * replaced(atom);
    sum = sum + product;
  }
  return sum;
}

std::optional<Extent> substitute_if_small(const Extent& e, const std::function<std::optional<Extent>(ValueId)>& f) {
  Extent sum;
  for (const auto& [monomial, coefficient] : e.terms()) {
    std::optional<Extent> product = coefficient;
    for (const AtomRef& atom : monomial) {
      std::optional<Extent> factor;
      if (atom->kind == Atom::Kind::kValue) {
        factor = f(atom->value).value_or(Extent::of(atom->value));
      } else {
        const auto numerator = substitute_if_small(atom->numerator, f);
        const auto denominator = substitute_if_small(atom->denominator, f);
        if (numerator && denominator)
          factor = atom->kind == Atom::Kind::kQuotient ? Extent::quotient(*numerator, *denominator)
                                                       : Extent::remainder(*numerator, *denominator);
      }
      product = factor ? product_if_small(*product, *factor) : std::nullopt;
      if (!product) return std::nullopt;
    }
    sum = sum + *product;
    if (sum.terms().size() > kMostTerms) return std::nullopt;
  }
  return sum;
}

std::string Extent::to_string(const std::function<std::string(ValueId)>& name) const {
  if (terms_.empty()) return "0";
  std::string text;
  for (const auto& [monomial, coefficient] : terms_) {
    const bool negative = coefficient < 0;
    if (text.empty()) {
      text = negative ? "-" : "";
    } else {
      text += negative ? " - " : " + ";
    }
    const auto bits = static_cast<std::uint64_t>(coefficient);
    text += print_term(monomial, negative ? 0 - bits : bits, name);
  }
  return text;
}

ExtentOrder compare(const Extent& a, const Extent& b, const std::function<bool(ValueId)>& is_dimension) {
  if (a == b) return ExtentOrder::kEqual;
  if ((a - b).constant()) return ExtentOrder::kDifferent;
  const auto left = a.as_value();
  const auto right = b.as_value();
  const bool named = left && right && is_dimension(*left) && is_dimension(*right);
  return named ? ExtentOrder::kDifferent : ExtentOrder::kUnknown;
}

}  // namespace tdsl::ir
