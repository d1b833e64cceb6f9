#pragma once

#include <string_view>
#include <vector>

#include "ir/algebra/expr.h"
#include "ir/algebra/rules/rules.h"

namespace tdsl::ir::algebra {

/// One rule applied to a plan: the node `before` became `after`.
struct RuleStep {
  std::string_view rule;
  Expr before, after;
  Expr plan;  ///< the result
};

/// A plan and its derivation.
struct Found {
  Expr plan;
  int from = -1;  ///< index of the plan from which `rule` derived this one; -1: the given expression
  std::string_view rule;
  Expr before, after;
};

struct Reachable {
  std::vector<Found> plans;  ///< the given expression first, then by number of steps
  bool complete = true;      ///< false: the limit stopped the search
};

/// The plans equal to `e`, a verified expression on sites, that result from applying rules anywhere in it. All are
/// verified: a plan with an operator that relied on a layout changed by a rule is discarded. R2-1 is applied
/// immediately to the result of every other rule and is not a separate step.
[[nodiscard]] Reachable reachable(Pool& pool, const Expr& e, std::size_t limit = 20000);
[[nodiscard]] Reachable reachable(Pool& pool, const Expr& e, std::size_t limit, std::span<const Rule* const> with);

/// The reachable plan with the least paper_cost on one axis of `sites`; ties go to the one found first.
struct Cheapest {
  Expr plan;
  Index cost = 0;
  std::vector<RuleStep> steps;  ///< that derive it, in order
  std::size_t plans = 0;        ///< number of compared plans
  bool complete = true;         ///< false: the limit stopped the search
};
[[nodiscard]] Cheapest cheapest(Pool& pool, const Expr& e, Index sites, std::size_t limit = 20000);
[[nodiscard]] Cheapest cheapest_of(const Reachable& found, Index sites);
/// For large expressions: searches of at most `limit` plans, each from the cheapest plan of the one before, until one
/// finds none that is cheaper.
[[nodiscard]] Cheapest derive(Pool& pool, const Expr& e, Index sites, std::size_t limit);

}  // namespace tdsl::ir::algebra
