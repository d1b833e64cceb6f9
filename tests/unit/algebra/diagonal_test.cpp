#include <fmt/format.h>

#include <algorithm>

#include "ir/algebra/rules/reachable.h"
#include "tests/unit/algebra/support.h"
#include "tests/unit/thinned.h"

namespace tdsl::tests::relations {

using namespace ir::algebra;

// diag(X + Y), section 4.2.1 of the tensor relational algebra paper.

namespace {

std::string diagonal_inputs(Index f, Index b, std::string_view x, std::string_view y) {
  return fmt::format(
      "%0 = input \"X\" keys [{0}, {0}] block [{1}, {1}] {2}\n%1 = input \"Y\" keys [{0}, {0}] block [{1}, {1}] {3}\n",
      f, b, x, y);
}

/// diag(X + Y) as initially compiled.
std::string diagonal_first(const std::string& inputs) {
  return inputs + R"(
    %2 = bcast %0
    %3 = local join %2, %1 on [0, 1], [0, 1] by add
    %4 = local filter %3 where k0 == k1
    %5 = local rekey %4 [k0]
    %6 = local map %5 by diag
    result "" %6)";
}

/// Whether every bcast and shuf moves only diagonal blocks.
bool filters_before_moving(const Expr& plan) {
  const std::vector<Expr> roots{plan};
  return std::ranges::all_of(nodes_of(roots), [](const Expr& e) {
    return as<Redistribute>(e) == nullptr || e->operands[0]->type.keys.count() == e->type.keys.frontier()[0];
  });
}

}  // namespace

TEST_CASE("algebra oracle: diag(X + Y), the costs of its plans") {
  constexpr Index kF = 6;
  constexpr Index kB = 4;
  constexpr Index kSites = 5;
  const std::string loose = diagonal_inputs(kF, kB, "loose", "loose");
  CHECK(program_cost(diagonal_first(loose), kSites) == kSites * kF * kF * kB * kB);
  const std::string filtered = loose + R"(
    %2 = local filter %0 where k0 == k1
    %3 = local filter %1 where k0 == k1
    )";
  const std::string broadcast = filtered + R"(
    %4 = bcast %2
    %5 = local join %4, %3 on [0, 1], [0, 1] by add then diag rekey [k0]
    result "" %5)";
  CHECK(program_cost(broadcast, kSites) == kSites * kF * kB * kB);
  const std::string shuffled = filtered + R"(
    %4 = shuf %2 part [0, 1]
    %5 = shuf %3 part [0, 1]
    %6 = local join %4, %5 on [0, 1], [0, 1] by add then diag rekey [k0]
    result "" %6)";
  CHECK(program_cost(shuffled, kSites) == 2 * kF * kB * kB);
  for (const std::string& plan : {diagonal_first(loose), broadcast, shuffled}) {
    CHECK(run_program(plan, kSites) == program_cost(plan, kSites));
    Pool pool;
    const Expr e = parse_one(pool, plan);
    const Data data = random_inputs(e, 1);
    CHECK(evaluate(e, data) == evaluate(parse_one(pool, diagonal_first(loose)), data));
  }
}

TEST_CASE("algebra oracle: diag(X + Y), the cheapest plan is found, with the filter below every communication") {
  if (kInstrumented) return;  // half a minute of search, which other tests cover too
  constexpr Index kF = 6;
  constexpr Index kB = 4;
  constexpr Index kSites = 5;
  Pool pool;
  const auto first = [&](std::string_view x, std::string_view y) {
    return parse_one(pool, diagonal_first(diagonal_inputs(kF, kB, x, y)));
  };
  // As in the paper: addition before diag.
  std::vector<const Rule*> printed;
  for (const Rule& rule : rules()) {
    if (rule.name != "R1-7 distributive") printed.push_back(&rule);
  }
  const Cheapest as_printed = cheapest_of(reachable(pool, first("loose", "loose"), 20000, printed), kSites);
  CHECK(as_printed.complete);
  CHECK(as_printed.cost == 2 * kF * kB * kB);
  CHECK(filters_before_moving(as_printed.plan));
  // diag distributes over addition, so that only diagonals must move.
  const Reachable all = reachable(pool, first("loose", "loose"));
  const Cheapest best = cheapest_of(all, kSites);
  CHECK(best.complete);
  CHECK(best.cost == 2 * kF * kB);
  CHECK(filters_before_moving(best.plan));
  CHECK(cheapest_of(all, 1).cost == kF * kB);  // one site: a broadcast costs as much as a shuffle
  // Nothing moves if blocks are co-located; one input moves if it can follow the other.
  CHECK(cheapest(pool, first("part [0, 1]", "part [0, 1]"), kSites).cost == 0);
  CHECK(cheapest(pool, first("part [0]", "part [0]"), kSites).cost == 0);
  CHECK(cheapest(pool, first("part [0]", "part [1]"), kSites).cost == kF * kB);
  const Data data = random_inputs(best.plan, 5);
  for (const Cheapest& c : {as_printed, best}) {
    const PlanRun run = run_plan(c.plan, data, {Mesh{{kSites}}});
    CHECK(run.value == evaluate(first("loose", "loose"), data));
    CHECK(run.paper == c.cost);
  }
}

}  // namespace tdsl::tests::relations
