#include "ir/algebra/rules/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/algebra/error.h"

namespace tdsl::ir::algebra {

std::span<const Rule> rules() {
  static const std::vector<Rule> all = [] {
    const auto first = detail::kernel_rules();
    const auto second = detail::site_rules();
    std::vector<Rule> both(first.begin(), first.end());
    both.insert(both.end(), second.begin(), second.end());
    return both;
  }();
  return all;
}

const Rule& rule_named(std::string_view name) {
  const auto found = std::ranges::find(rules(), name, &Rule::name);
  if (found == rules().end()) throw AlgebraError(fmt::format("no rule is called {}", name));
  return *found;
}

bool same_contents(const RelationType& a, const RelationType& b) {
  if (a.keys != b.keys || a.block != b.block || a.pieces.has_value() != b.pieces.has_value()) return false;
  return !a.pieces || a.pieces->by == b.pieces->by;
}

std::vector<Expr> applied(const Rule& rule, Pool& pool, const Expr& e) {
  std::vector<Expr> results;
  rule.apply(pool, e, results);
  std::erase_if(results, [&](const Expr& r) { return r == e || !r->sound || !same_contents(e->type, r->type); });
  return results;
}

}  // namespace tdsl::ir::algebra
