#include "passes/schedule/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"

namespace tdsl::passes {

using namespace ir;

namespace {

std::string joined(const std::vector<std::string>& parts, const char* between, const char* otherwise) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text.empty() ? otherwise : text;
}

/// `[a, b] : exists (c, d : conditions)`.
std::string set_of(const std::vector<std::string>& tuple, const std::vector<std::string>& hidden,
                   const std::vector<std::string>& conditions) {
  const std::string where = joined(conditions, " and ", "0 = 0");
  const std::string inside = hidden.empty() ? where : fmt::format("exists ({} : {})", joined(hidden, ", ", ""), where);
  return fmt::format("[{}] : {}", joined(tuple, ", ", ""), inside);
}

std::vector<std::string> loop_names(const std::string& prefix, const ScopStatement& s) {
  std::vector<std::string> names;
  for (std::size_t d = 0; d < s.loops.size(); ++d) names.push_back(fmt::format("{}{}", prefix, d));
  return names;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

const char* comparison(BinaryOp op, bool negated) {
  switch (op) {
    case BinaryOp::kLt: return negated ? ">=" : "<";
    case BinaryOp::kLe: return negated ? ">" : "<=";
    case BinaryOp::kGt: return negated ? "<=" : ">";
    case BinaryOp::kGe: return negated ? "<" : ">=";
    case BinaryOp::kEq: return negated ? "!=" : "=";
    case BinaryOp::kNe: return negated ? "=" : "!=";
    default: return nullptr;
  }
}

std::string element_name(std::size_t d) { return fmt::format("a{}", d); }

}  // namespace

std::string Points::parameter(const Extent& e) {
  const std::string text = e.to_string([](ValueId v) { return fmt::format("%{}", v.id); });
  const auto [found, added] = parameters_.emplace(text, fmt::format("p{}", parameters_.size()));
  return found->second;
}

std::string Points::with_parameters(const std::string& sets) const {
  std::vector<std::string> names;
  for (const auto& [text, name] : parameters_) names.push_back(name);
  return fmt::format("[{}] -> {{ {} }}", joined(names, ", ", ""), sets);
}

std::string Points::united(const std::vector<std::string>& sets) { return joined(sets, "; ", ""); }

/// A loop index or label of the instance; nothing for other values.
std::optional<std::string> Points::name_of(ValueId v, const ScopStatement& s, const Instance& in) {
  if (v.id <= label_value(0).id) return fmt::format("{}l{}", in.prefix, label_value(0).id - v.id);
  for (std::size_t d = 0; d < s.loops.size(); ++d) {
    if (scop_.loops[s.loops[d]].index == v) return fmt::format("{}{}", in.prefix, d);
  }
  return std::nullopt;
}

std::optional<std::string> Points::linear(const Extent& unresolved, const ScopStatement& s, const Instance& in) {
  const Extent e = resolve_(unresolved);
  std::vector<std::string> terms;
  for (const auto& [monomial, coefficient] : e.terms()) {
    // Coefficients of this size would be a program's mistake, and slow.
    if (std::abs(coefficient) > 1000000) return std::nullopt;
    if (monomial.empty()) {
      terms.push_back(std::to_string(coefficient));
      continue;
    }
    Extent factors(1);
    std::optional<std::string> own;
    for (const Extent::AtomRef& atom : monomial) {
      Extent factor;
      switch (atom->kind) {
        case Extent::Atom::Kind::kValue: factor = Extent::of(atom->value); break;
        case Extent::Atom::Kind::kQuotient: factor = Extent::quotient(atom->numerator, atom->denominator); break;
        case Extent::Atom::Kind::kRemainder: factor = Extent::remainder(atom->numerator, atom->denominator); break;
      }
      for (const ValueId v : factor.values()) {
        const auto name = name_of(v, s, in);
        if (scop_.array_of(v) || (name && (monomial.size() > 1 || atom->kind != Extent::Atom::Kind::kValue)))
          return std::nullopt;
        if (name) own = name;
      }
      factors = factors * factor;
    }
    terms.push_back(fmt::format("{}*{}", coefficient, own ? *own : parameter(factors)));
  }
  return joined(terms, " + ", "0");
}

std::optional<std::string> Points::linear(const Expr& e, const ScopStatement& s, const Instance& in) {
  const auto polynomial = polynomial_of(e);
  return polynomial ? linear(*polynomial, s, in) : std::nullopt;
}

void Points::bound(const Expr& e, const std::string& variable, const std::string& relation, const ScopStatement& s,
                   Instance& into) {
  const auto* b = std::get_if<Binary>(&e->op);
  const bool above = relation.front() == '>';
  if (b != nullptr && b->op == (above ? BinaryOp::kMax : BinaryOp::kMin)) {
    bound(b->left, variable, relation, s, into);
    bound(b->right, variable, relation, s, into);
    return;
  }
  const auto text = linear(e, s, into);
  into.exact = into.exact && text;
  if (text) into.conditions.push_back(fmt::format("{} {} {}", variable, relation, *text));
}

void Points::loop_conditions(std::size_t number, std::size_t depth, const ScopStatement& s, Instance& into) {
  const ScopLoop& loop = scop_.loops[number];
  const std::string variable = fmt::format("{}{}", into.prefix, depth);
  const bool up = loop.step > 0;
  bound(loop.begin, variable, up ? ">=" : "<=", s, into);
  bound(loop.end, variable, up ? "<" : ">", s, into);
  if (std::abs(loop.step) == 1) return;
  const auto begin = linear(loop.begin, s, into);
  into.exact = into.exact && begin;
  if (!begin) return;
  const std::string iteration = fmt::format("{}e{}", into.prefix, depth);
  into.hidden.push_back(iteration);
  into.conditions.push_back(fmt::format("{} = {} + {}*{}", variable, *begin, loop.step, iteration));
}

/// Adds the affine conditions that mention the first `labels` labels only.
void Points::condition(const Expr& e, bool negated, const ScopStatement& s, Instance& into, std::size_t labels) {
  if (!e) return;
  if (const auto* u = std::get_if<Unary>(&e->op); u != nullptr && u->op == UnaryOp::kNot)
    return condition(u->operand, !negated, s, into, labels);
  const auto* b = std::get_if<Binary>(&e->op);
  if (b != nullptr && b->op == (negated ? BinaryOp::kOr : BinaryOp::kAnd)) {
    condition(b->left, negated, s, into, labels);
    condition(b->right, negated, s, into, labels);
    return;
  }
  const bool foreign = mentions_labels(e, labels);
  const char* relation = b == nullptr || foreign ? nullptr : comparison(b->op, negated);
  const auto left = relation == nullptr ? std::nullopt : linear(b->left, s, into);
  const auto right = left ? linear(b->right, s, into) : std::nullopt;
  into.exact = into.exact && right;
  if (right) into.conditions.push_back(fmt::format("{} {} {}", *left, relation, *right));
}

Points::Instance Points::instance(std::size_t number, const std::string& prefix, bool guarded, bool reduced) {
  const ScopStatement& s = scop_.statements[number];
  Instance in{prefix};
  for (std::size_t d = 0; d < s.loops.size(); ++d) loop_conditions(s.loops[d], d, s, in);
  // The accumulation has the condition in which it keeps the old value as a guard.
  const Compute& c = s.accumulation ? *s.accumulation : s.compute;
  const std::vector<Label> labels = reduced ? all_labels(c) : c.out;
  for (std::size_t l = 0; l < labels.size(); ++l) {
    const std::string name = fmt::format("{}l{}", prefix, l);
    in.hidden.push_back(name);
    const auto begin = linear(labels[l].begin, s, in);
    const auto end = linear(labels[l].end, s, in);
    in.exact = in.exact && begin && end;
    if (begin) in.conditions.push_back(fmt::format("{} >= {}", name, *begin));
    if (end) in.conditions.push_back(fmt::format("{} < {}", name, *end));
  }
  if (guarded) condition(c.guard, false, s, in, labels.size());
  return in;
}

std::vector<std::string> Points::before(std::size_t s, std::size_t t, std::size_t level) const {
  const std::size_t common = common_loops(scop_.statements[s], scop_.statements[t]);
  std::vector<std::string> conditions;
  for (std::size_t d = 0; d < std::min(level, common); ++d) conditions.push_back(fmt::format("x{} = y{}", d, d));
  if (level < common) {
    const bool up = scop_.loops[scop_.statements[s].loops[level]].step > 0;
    conditions.push_back(fmt::format("x{} {} y{}", level, up ? "<" : ">", level));
  }
  return conditions;
}

/// Conditions on the elements a0, a1, …; `exact` becomes false if they admit more elements.
std::vector<std::string> Points::elements(std::size_t number, const ScopAccess& a, Instance& in, bool& exact) {
  const ScopStatement& s = scop_.statements[number];
  std::vector<std::string> conditions;
  const Type& type = scop_.arrays[a.array].type;
  const std::size_t copies = scop_.arrays[a.array].expanded.size();
  for (std::size_t d = 0; d < copies; ++d)
    conditions.push_back(
        fmt::format("{} = {}", element_name(d), *name_of(scop_.loops[scop_.arrays[a.array].expanded[d]].index, s, in)));
  for (std::size_t d = 0; d < a.at.size(); ++d) {
    const std::string element = element_name(copies + d);
    const auto at = linear(a.at[d], s, in);
    exact = exact && at;
    if (at) conditions.push_back(fmt::format("{} = {}", element, *at));
    // Other elements stop the run.
    const auto extent = linear(type.shape[d], s, in);
    conditions.push_back(fmt::format("{} >= 0", element));
    if (extent) conditions.push_back(fmt::format("{} < {}", element, *extent));
  }
  return conditions;
}

std::string Points::conflicts(std::size_t s, const ScopAccess& a, std::size_t t, const ScopAccess& b,
                              std::size_t level) {
  Instance x = instance(s, "x", a.guarded, a.reduced);
  Instance y = instance(t, "y", b.guarded, b.reduced);
  bool exact = true;
  std::vector<std::string> conditions = x.conditions;
  append(conditions, y.conditions);
  append(conditions, before(s, t, level));
  append(conditions, elements(s, a, x, exact));
  append(conditions, elements(t, b, y, exact));
  std::vector<std::string> tuple = loop_names("x", scop_.statements[s]);
  append(tuple, loop_names("y", scop_.statements[t]));
  std::vector<std::string> hidden = x.hidden;
  append(hidden, y.hidden);
  for (std::size_t d = 0; d < a.at.size() + scop_.arrays[a.array].expanded.size(); ++d)
    hidden.push_back(element_name(d));
  return set_of(tuple, hidden, conditions);
}

std::string Points::accessed(std::size_t t, const ScopAccess& a) {
  Instance y = instance(t, "y", a.guarded, a.reduced);
  bool exact = true;
  append(y.conditions, elements(t, a, y, exact));
  std::vector<std::string> tuple = loop_names("y", scop_.statements[t]);
  for (std::size_t d = 0; d < a.at.size(); ++d) tuple.push_back(element_name(d));
  return set_of(tuple, y.hidden, y.conditions);
}

std::string Points::written_before(std::size_t s, const ScopAccess& a, std::size_t t, std::size_t loops) {
  // A store writes the value of an empty reduction; an update leaves the element.
  Instance x = instance(s, "x", true, a.combined);
  bool exact = true;
  const std::vector<std::string> at = elements(s, a, x, exact);
  if (!exact || !x.exact) return "";
  std::vector<std::string> tuple = loop_names("y", scop_.statements[t]);
  for (std::size_t d = 0; d < a.at.size(); ++d) tuple.push_back(element_name(d));
  std::vector<std::string> hidden = loop_names("x", scop_.statements[s]);
  append(hidden, x.hidden);
  const std::size_t common = common_loops(scop_.statements[s], scop_.statements[t]);
  std::vector<std::string> sets;
  for (std::size_t level = loops; level <= common; ++level) {
    if (level == common && s >= t) continue;
    std::vector<std::string> conditions = x.conditions;
    append(conditions, at);
    append(conditions, before(s, t, level));
    sets.push_back(set_of(tuple, hidden, conditions));
  }
  return united(sets);
}

}  // namespace tdsl::passes
