#pragma once

#include <string_view>
#include <vector>

#include "ir/algebra/expr.h"
#include "ir/algebra/rules.h"

namespace tdsl::ir::algebra {

/// A plan and how it was found.
struct Found {
  Expr plan;
  int from = -1;  ///< the position of the plan that `rule` turned into this one; -1: the given expression
  std::string_view rule;
};

struct Reachable {
  std::vector<Found> plans;  ///< the given expression first, then in the order of the number of steps to it
  bool complete = true;      ///< the limit did not cut the search off
};

/// The plans equal to `e`, a verified expression on sites, that rules applied anywhere in it give. All are verified: a
/// plan in which some operator relied on a layout that a rule has changed is none. R2-1 is applied at once to whatever
/// another rule gives; it is no step of its own there.
[[nodiscard]] Reachable reachable(Pool& pool, const Expr& e, std::size_t limit = 20000);
[[nodiscard]] Reachable reachable(Pool& pool, const Expr& e, std::size_t limit, std::span<const Rule* const> with);

/// The reachable plan with the least paper_cost on one axis of `sites`; of several, the one found first.
struct Cheapest {
  Expr plan;
  Index cost = 0;
  std::vector<std::string_view> steps;  ///< the rules that lead to it
  std::size_t plans = 0;                ///< how many were compared
  bool complete = true;
};
[[nodiscard]] Cheapest cheapest(Pool& pool, const Expr& e, Index sites, std::size_t limit = 20000);
[[nodiscard]] Cheapest cheapest_of(const Reachable& found, Index sites);

}  // namespace tdsl::ir::algebra
