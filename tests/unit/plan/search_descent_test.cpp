#include <doctest/doctest.h>

#include <iostream>

#include "runtime/plan/search/dead_ends.h"
#include "runtime/plan/search/forests.h"
#include "runtime/plan/search/solve.h"
#include "tests/unit/plan/search_networks.h"

using namespace tdsl::plan;
using tdsl::tests::BruteForce;
using tdsl::tests::Distances;
using tdsl::tests::large_network;
using tdsl::tests::NetworkShape;
using tdsl::tests::Random;
using tdsl::tests::random_assignment;
using tdsl::tests::random_costs;
using tdsl::tests::random_network;
using tdsl::tests::RandomNetwork;
using tdsl::tests::test_seed;

namespace {

/// Disables elimination, so that descents have work to do.
SearchLimits descents_only() {
  SearchLimits limits;
  limits.table = 1;
  return limits;
}

int forbidden_entries(const Network& network, const Assignment& x) {
  int count = 0;
  for (int v = 0; v < network.variables(); ++v) count += network.own(v)[idx(x[idx(v)])] == kForbidden ? 1 : 0;
  for (int e = 0; e < static_cast<int>(network.edges().size()); ++e) {
    const Network::Edge& edge = network.edges()[idx(e)];
    count += network.view(e, edge.first).at(x[idx(edge.first)], x[idx(edge.second)]) == kForbidden ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("plan/search: descents never end above their start, and at the minimum of a tree") {
  for (std::uint64_t k = 0; k < 1000; ++k) {
    CAPTURE(k);
    Random random(test_seed() + 10, k);
    const bool tree = k % 2 == 0;
    NetworkShape shape{.least_variables = 2, .most_producers = tree ? 1 : 3};
    shape.forbidden_percent = k % 3 == 0 ? 30 : 0;
    const Network network = random_network(random, shape).network;
    const Assignment start = random_assignment(random, network);
    const Answer answer = descend(network, start);
    CHECK(answer.cost <= network.cost(start));
    CHECK(answer.cost == network.cost(answer.values));
    CHECK(forbidden_entries(network, answer.values) <= forbidden_entries(network, start));
    if (tree) CHECK(answer.cost == BruteForce(network).least);
  }
}

TEST_CASE("plan/search: a descent from a forbidden assignment counts forbidden entries first") {
  // A chain in which neighbours must be equal, with a start in which none are. Fewer forbidden entries cost more.
  Network network;
  for (int v = 0; v < 6; ++v) network.add(network.add_variable(3), {0, 100, 0});
  for (int v = 1; v < 6; ++v)
    network.add(v - 1, v, {0, kForbidden, kForbidden, kForbidden, 0, kForbidden, kForbidden, kForbidden, 0});
  network.add(0, {kForbidden, 0, kForbidden});
  const Answer answer = descend(network, {0, 1, 0, 1, 2, 0});
  CHECK(answer.values == Assignment{1, 1, 1, 1, 1, 1});
  CHECK(answer.cost == 600);
  // Each pair would have to be equal, but none may be: one forbidden entry remains, the cheapest one.
  Network triangle;
  for (int v = 0; v < 3; ++v) triangle.add(triangle.add_variable(2), {0, 1});
  triangle.add(0, 1, {kForbidden, 0, 0, kForbidden});
  triangle.add(1, 2, {kForbidden, 0, 0, kForbidden});
  triangle.add(0, 2, {kForbidden, 0, 0, kForbidden});
  const Answer left = descend(triangle, {1, 1, 1});
  CHECK(left.cost == kForbidden);
  CHECK(forbidden_entries(triangle, left.values) == 1);
  CHECK(left.values[0] + left.values[1] + left.values[2] == 1);
}

TEST_CASE("plan/search: descents are the same everywhere, and end at their limits") {
  const RandomNetwork large = large_network(60, 180, 10, 10);
  const Assignment start(60, 0);
  const Answer answer = descend(large.network, start);
  // A recorded value. A different one means another order of sums or random numbers: plans would differ between builds.
  CHECK(large.network.cost(start) == 99557);
  CHECK(answer.cost == 63618);
  CHECK(answer.work == 27019);
  CHECK(descend(large.network, start).values == answer.values);
  CHECK(descend(large.network, start, {.rounds = 0}).values == start);
  const Answer once = descend(large.network, start, {.rounds = 1});
  CHECK(once.work <= large.network.entries());
  CHECK(once.cost >= answer.cost);
  CHECK(descend(large.network, start, {.work = 1}).values == once.values);
}

TEST_CASE("plan/search: linearisation is exact on paths") {
  for (std::uint64_t k = 0; k < 300; ++k) {
    CAPTURE(k);
    Random random(test_seed() + 11, k);
    Network network;
    std::vector<Arc> arcs;
    const int variables = random.small(1, 6);
    for (int v = 0; v < variables; ++v) {
      network.add_variable(random.small(1, 4));
      network.add(v, random_costs(random, network.own(v).size(), 0));
      if (v == 0) continue;
      network.add(v - 1, v,
                  random_costs(random, network.own(v - 1).size() * network.own(v).size(), k % 2 == 0 ? 20 : 0));
      arcs.push_back(k % 3 == 0 ? Arc{v, v - 1} : Arc{v - 1, v});
    }
    const Answer answer = linearise(network, arcs);
    CHECK(answer.cost == BruteForce(network).least);
  }
}

TEST_CASE("plan/search: linearisation decides the longest path first") {
  // A C D F is the longest path of the header's example; then B, then E. Costs are those of A B C D E F.
  Network network;
  for (int v = 0; v < 6; ++v) network.add_variable(2);
  const std::vector<double> equal{0, 10, 10, 0};
  network.add(0, 2, equal);
  network.add(2, 3, equal);
  network.add(3, 5, equal);
  network.add(1, 2, {0, 7, 0, 7});     // C with value 1, whatever B does: counted
  network.add(1, {0, 50});             // B's own costs: not counted before B is processed
  network.add(2, 4, {0, 0, 90, 90});   // C with value 1: not counted, E being another consumer
  network.add(4, 5, {20, 0, 20, 20});  // F with value 1 can be free: E is assumed to suit it
  const std::vector<Arc> arcs{{0, 2}, {1, 2}, {2, 3}, {3, 5}, {2, 4}, {4, 5}};
  const Answer answer = linearise(network, arcs);
  // The first path: all 1 costs 7 (C) and 0 (F); all 0 costs 0 and 20; changing between costs 10. So all 1.
  CHECK(answer.values == Assignment{1, 0, 1, 1, 0, 1});
  CHECK(answer.cost == 97);
  // A backward arc closes a cycle and is ignored; an arc without a table costs nothing.
  std::vector<Arc> looped = arcs;
  looped.push_back({5, 0});
  looped.push_back({4, 2});
  looped.push_back({2, 2});
  CHECK(linearise(network, looped).values == answer.values);
  CHECK(linearise(network, {{0, 5}}).cost < kForbidden);
}

TEST_CASE("plan/search: how near linearisation and descents come") {
  const auto run = [](const char* name, const NetworkShape& shape, std::uint64_t cases) {
    Distances linearised, forests, both, starts;
    for (std::uint64_t k = 0; k < cases; ++k) {
      CAPTURE(k);
      Random random(1, k);
      const auto [network, arcs] = random_network(random, shape);
      const std::optional<Answer> least = tdsl::tests::eliminate(network);
      REQUIRE(least);
      if (least->cost == kForbidden) continue;
      const Assignment start = random_assignment(random, network);
      const Answer line = linearise(network, arcs);
      const Answer from_start = descend(network, start);
      const Answer from_line = descend(network, line.values);
      const Solution solution = solve(network, start, arcs, descents_only());
      for (const double cost : {line.cost, from_start.cost, from_line.cost, solution.cost}) CHECK(cost >= least->cost);
      CHECK(from_line.cost <= line.cost);
      CHECK(solution.cost <= network.cost(start));
      linearised.add(line.cost, least->cost);
      forests.add(from_start.cost, least->cost);
      both.add(from_line.cost, least->cost);
      starts.add(solution.cost, least->cost);
    }
    std::cout << name << ": linearised " << linearised.text() << "; forests " << forests.text() << "; both "
              << both.text() << "; three starts " << starts.text() << std::endl;
  };
  run("  search, small graphs",
      {.least_variables = 4, .most_variables = 8, .most_producers = 3, .forbidden_percent = 10}, 1000);
  NetworkShape larger{.least_variables = 20, .most_variables = 30, .most_producers = 3};
  larger.assignments = 1 << 30;
  run("  search, larger graphs", larger, 100);
}

TEST_CASE("plan/search: the solution is the minimum where tables are small") {
  for (std::uint64_t k = 0; k < 500; ++k) {
    CAPTURE(k);
    Random random(test_seed() + 12, k);
    const int forbidden = k % 2 == 0 ? 20 : 0;
    const auto [network, arcs] =
        random_network(random, {.least_variables = 2, .most_producers = 3, .forbidden_percent = forbidden});
    const BruteForce truth(network);
    const Assignment start = k % 3 == 0 ? Assignment{} : random_assignment(random, network);
    const Solution solution = solve(network, start, arcs);
    CHECK(solution.exact);
    CHECK(solution.cost == truth.least);
    CHECK(network.cost(solution.values) == truth.least);
    const Solution descended = solve(network, start, arcs, descents_only());
    CHECK(descended.cost >= truth.least);
    if (descended.exact) CHECK(descended.cost == truth.least);
    if (!start.empty()) CHECK(descended.cost <= network.cost(start));
  }
}

TEST_CASE("plan/search: five hundred variables take a bounded number of entries") {
  const RandomNetwork large = large_network(500, 1500, 100, 20);
  Assignment start;
  for (int v = 0; v < 500; ++v) start.push_back(large.network.values(v) - 1);
  for (const Index work : {Index{0}, Index{1} << 20, Index{1} << 24, Index{1} << 27, SearchLimits{}.work}) {
    CAPTURE(work);
    SearchLimits limits;
    limits.work = work;
    const Solution solution = solve(large.network, start, large.arcs, limits);
    CHECK(solution.cost <= large.network.cost(start));
    CHECK(solution.cost == large.network.cost(solution.values));
    CHECK(!solution.exact);
    // A round that has started is completed.
    CHECK(solution.work <= work + large.network.entries());
    if (work == 0) CHECK(solution.values == start);
    if (work < Index{1} << 24) continue;
    const DeadEnds smaller = without_dead_ends(large.network, work / 4);
    const Answer line = linearise(smaller.network, large.arcs);
    CHECK(solution.work >= smaller.work + line.work + descend(smaller.network, line.values, {.work = work / 4}).work);
    CHECK(solution.cost < 0.8 * large.network.cost(start));
    CHECK(solution.largest_table > kTableLimit);
    CHECK(solve(large.network, start, large.arcs, limits).values == solution.values);
  }
}
