#include "ir/algebra/key_function.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace tdsl::ir::algebra {

namespace {

/// `replace` substitutes integers for key values.
Extent with_values(const Extent& e, const std::function<Extent(int)>& replace) {
  return e.substitute([&](ValueId v) { return std::optional<Extent>(replace(v.id)); });
}

/// The part of `e` with positive coefficients, or, negated, the remainder.
Extent part_of(const Extent& e, bool positive) {
  Extent sum;
  for (const auto& [monomial, coefficient] : e.terms()) {
    if ((coefficient > 0) != positive) continue;
    Extent term = positive ? coefficient : -coefficient;
    for (const auto& atom : monomial) {
      using Kind = Extent::Atom::Kind;
      term = term * (atom->kind == Kind::kValue      ? Extent::of(atom->value)
                     : atom->kind == Kind::kQuotient ? Extent::quotient(atom->numerator, atom->denominator)
                                                     : Extent::remainder(atom->numerator, atom->denominator));
    }
    sum = sum + term;
  }
  return sum;
}

std::string plain_text(const Extent& e) {
  return e.to_string([](ValueId v) { return fmt::format("k{}", v.id); });
}

Comparison normalised(const Comparison& c) {
  const Extent difference = c.left - c.right;
  Comparison result{c.relation, part_of(difference, true), part_of(difference, false)};
  const bool symmetric = c.relation == Comparison::Relation::kEqual || c.relation == Comparison::Relation::kNotEqual;
  // A side without key values goes on the right; otherwise the text order decides.
  const auto rank = [](const Extent& e) { return std::tuple(e.constant().has_value(), plain_text(e)); };
  if (symmetric && rank(result.right) < rank(result.left)) std::swap(result.left, result.right);
  return result;
}

std::string_view relation_text(Comparison::Relation relation) {
  switch (relation) {
    case Comparison::Relation::kEqual: return "==";
    case Comparison::Relation::kNotEqual: return "!=";
    case Comparison::Relation::kLess: return "<";
    case Comparison::Relation::kAtMost: return "<=";
  }
  return "?";
}

std::string comparison_text(const Comparison& c) {
  return fmt::format("{} {} {}", plain_text(c.left), relation_text(c.relation), plain_text(c.right));
}

}  // namespace

Extent key_value(int dim) { return Extent::of(ValueId{dim}); }

Index value_at(const Extent& e, const Key& key) {
  if (const auto v = e.as_value()) return key[static_cast<std::size_t>(v->id)];
  return e.evaluate([&](ValueId v) { return key[static_cast<std::size_t>(v.id)]; });
}

KeyFunction KeyFunction::identity(std::size_t arity) { return select(all_dims(arity)); }

KeyFunction KeyFunction::select(const Dims& dims) {
  KeyFunction f;
  std::ranges::transform(dims, std::back_inserter(f.values), key_value);
  return f;
}

Key KeyFunction::operator()(const Key& key) const {
  Key result;
  result.reserve(values.size());
  for (const Extent& e : values) result.push_back(value_at(e, key));
  return result;
}

std::optional<int> KeyFunction::passes(int dim) const {
  const auto found = std::ranges::find(values, key_value(dim));
  if (found == values.end()) return std::nullopt;
  return static_cast<int>(found - values.begin());
}

int KeyFunction::last_dim() const {
  int last = -1;
  for (const Extent& e : values) {
    for (const ValueId v : e.values()) last = std::max(last, static_cast<int>(v.id));
  }
  return last;
}

Predicate::Predicate(std::vector<Comparison> all) {
  std::ranges::transform(all, std::back_inserter(all_), normalised);
  std::ranges::sort(all_, {}, comparison_text);
  const auto same = [](const Comparison& a, const Comparison& b) { return comparison_text(a) == comparison_text(b); };
  all_.erase(std::unique(all_.begin(), all_.end(), same), all_.end());
}

bool Predicate::operator()(const Key& key) const {
  return std::ranges::all_of(all_, [&](const Comparison& c) {
    const Index left = value_at(c.left, key);
    const Index right = value_at(c.right, key);
    switch (c.relation) {
      case Comparison::Relation::kEqual: return left == right;
      case Comparison::Relation::kNotEqual: return left != right;
      case Comparison::Relation::kLess: return left < right;
      case Comparison::Relation::kAtMost: return left <= right;
    }
    return false;
  });
}

Dims Predicate::dims() const {
  std::set<int> found;
  for (const Comparison& c : all_) {
    for (const Extent& side : {c.left, c.right}) {
      for (const ValueId v : side.values()) found.insert(v.id);
    }
  }
  return {found.begin(), found.end()};
}

Predicate Predicate::before(const KeyFunction& f) const {
  std::vector<Comparison> all = all_;
  const auto value = [&](int dim) { return f.values[static_cast<std::size_t>(dim)]; };
  for (Comparison& c : all) {
    c.left = with_values(c.left, value);
    c.right = with_values(c.right, value);
  }
  return Predicate(std::move(all));
}

Predicate operator&&(const Predicate& a, const Predicate& b) {
  std::vector<Comparison> all = a.all_;
  all.insert(all.end(), b.all_.begin(), b.all_.end());
  return Predicate(std::move(all));
}

std::string KeyPrinter::text(const Extent& e) const {
  std::string text = e.to_string([this](ValueId v) {
    return static_cast<std::size_t>(v.id) == arity_ ? std::string("t") : fmt::format("k{}", v.id);
  });
  // In the text form % begins a new line.
  for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%')) text.replace(at, 1, " mod ");
  return text;
}

std::string KeyPrinter::text(const KeyFunction& f) const {
  std::vector<std::string> values;
  std::ranges::transform(f.values, std::back_inserter(values), [this](const Extent& e) { return text(e); });
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string KeyPrinter::text(const Predicate& p) const {
  if (p.always()) return "true";
  std::vector<std::string> all;
  for (const Comparison& c : p.comparisons())
    all.push_back(fmt::format("{} {} {}", text(c.left), relation_text(c.relation), text(c.right)));
  return fmt::format("{}", fmt::join(all, " and "));
}

}  // namespace tdsl::ir::algebra
