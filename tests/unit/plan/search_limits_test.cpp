#include <doctest/doctest.h>

#include <iostream>

#include "runtime/plan/search/fitting_moves.h"
#include "runtime/plan/search/limits.h"
#include "tests/unit/plan/search_networks.h"

using namespace tdsl::plan;
using tdsl::tests::Distances;
using tdsl::tests::for_each_assignment;
using tdsl::tests::large_network;
using tdsl::tests::NetworkShape;
using tdsl::tests::Random;
using tdsl::tests::random_assignment;
using tdsl::tests::random_network;
using tdsl::tests::RandomNetwork;

namespace {

/// Bytes above the limit at the worst point; negative if everything fits.
double excess_of(const MemoryLimits& limits, const Assignment& x) {
  double excess = -kForbidden;
  for (const MemoryLimits::Point& point : limits.points) excess = std::max(excess, bytes_at(point, x) - limits.cap);
  return excess;
}

/// Random memory use at a few points; the limit is between the least possible use and that of the cheapest assignment.
MemoryLimits random_limits(Random& random, const Network& network) {
  MemoryLimits limits;
  for (int p = random.small(1, 4); p > 0; --p) {
    MemoryLimits::Point point{100 + p, static_cast<double>(random.small(0, 10)), {}};
    for (int v = 0; v < network.variables(); ++v) {
      if (random.chance(50)) continue;
      MemoryLimits::Term term{v, {}};
      for (int s = 0; s < network.values(v); ++s) term.bytes.push_back(random.small(0, 30));
      point.terms.push_back(std::move(term));
    }
    limits.points.push_back(std::move(point));
  }
  double least_held = kForbidden;
  double cheapest = kForbidden;
  double held_by_cheapest = 0;
  for_each_assignment(network, [&](const Assignment& x) {
    const double cost = network.cost(x);
    if (cost == kForbidden) return;
    const double held = excess_of(limits, x);
    least_held = std::min(least_held, held);
    if (cost >= cheapest) return;
    cheapest = cost;
    held_by_cheapest = held;
  });
  if (least_held == kForbidden) return limits;
  limits.cap = least_held + static_cast<double>(random.in(
                                -1, std::max<Index>(0, static_cast<Index>(held_by_cheapest - least_held) - 1)));
  limits.share = std::max(1.0, limits.cap);
  return limits;
}

struct Truth {
  double least = kForbidden;   ///< cost of allowed assignments that fit
  double excess = kForbidden;  ///< least excess of allowed assignments
  Truth(const Network& network, const MemoryLimits& limits) {
    for_each_assignment(network, [&](const Assignment& x) {
      const double cost = network.cost(x);
      if (cost == kForbidden) return;
      excess = std::min(excess, excess_of(limits, x));
      if (excess_of(limits, x) <= 0) least = std::min(least, cost);
    });
  }
};

/// Invariants of every answer.
void check_answer(const Network& network, const MemoryLimits& limits, const FittingSolution& found) {
  const Assignment& x = found.solution.values;
  const double excess = excess_of(limits, x);
  CHECK(found.solution.cost == network.cost(x));
  CHECK(found.excess == std::max(0.0, excess));
  CHECK(found.fits == (excess <= 0 && found.solution.cost != kForbidden));
  CHECK(found.solves <= limits.solves);
  if (excess <= 0) return;
  const auto worst = std::find_if(limits.points.begin(), limits.points.end(),
                                  [&](const auto& point) { return point.name == found.worst; });
  REQUIRE(worst != limits.points.end());
  CHECK(bytes_at(*worst, x) - limits.cap == excess);
}

}  // namespace

TEST_CASE("plan/search: the cheapest assignment that fits is found") {
  Distances distances;
  int fitting = 0, found_fitting = 0, exceeding = 0, found_least = 0;
  for (std::uint64_t k = 0; k < 1000; ++k) {
    CAPTURE(k);
    Random random(1, k);
    const NetworkShape shape{.least_variables = 4, .most_variables = 8, .most_producers = 2, .forbidden_percent = 10};
    const auto [network, arcs] = random_network(random, shape);
    const MemoryLimits limits = random_limits(random, network);
    const Truth truth(network, limits);
    if (truth.excess == kForbidden) continue;
    const FittingSolution found = solve_within(network, limits, {}, arcs);
    check_answer(network, limits, found);
    if (truth.least == kForbidden) {
      CHECK(!found.fits);
      CHECK(found.excess >= truth.excess);
      ++exceeding;
      found_least += found.excess == truth.excess ? 1 : 0;
      continue;
    }
    ++fitting;
    if (!found.fits) continue;
    ++found_fitting;
    CHECK(found.solution.cost >= truth.least);
    if (found.solution.exact) CHECK(found.solution.cost == truth.least);
    distances.add(found.solution.cost, truth.least);
  }
  std::cout << "  search within limits: " << distances.text() << "; something that fits found in " << found_fitting
            << " of " << fitting << "; least excess in " << found_least << " of " << exceeding << std::endl;
  CHECK(fitting > 300);
  CHECK(exceeding > 30);
  CHECK(found_fitting >= 0.99 * fitting);
  CHECK(found_least >= 0.95 * exceeding);
  CHECK(distances.optimal() >= 0.95 * distances.cases());
}

TEST_CASE("plan/search: the example of the README within limits") {
  Network network;
  for (int v = 0; v < 3; ++v) network.add_variable(2);
  network.add(2, {3, 0});
  network.add(0, 1, {0, 5, 5, 0});
  network.add(1, 2, {0, 6, 7, 4});
  const FittingSolution found = solve_within(network, {3, 3, 24, {{1, 0, {{2, {4, 1}}}}}}, {}, {});
  CHECK(found.fits);
  CHECK(found.solution.values == Assignment{1, 1, 1});
  CHECK(found.solution.cost == 4);
}

TEST_CASE("plan/search: a start that fits is never lost") {
  for (std::uint64_t k = 0; k < 500; ++k) {
    CAPTURE(k);
    Random random(2, k);
    const auto [network, arcs] =
        random_network(random, {.least_variables = 3, .most_producers = 3, .forbidden_percent = 20});
    MemoryLimits limits = random_limits(random, network);
    limits.solves = random.small(0, 3);
    const Assignment start = random_assignment(random, network);
    SearchLimits search;
    search.work = random.in(0, 2000);
    const FittingSolution found = solve_within(network, limits, start, arcs, search);
    CHECK(found.solves <= std::max(1, limits.solves));
    if (excess_of(limits, start) > 0 || network.cost(start) == kForbidden) continue;
    CHECK(found.fits);
    CHECK(found.solution.cost <= network.cost(start));
  }
}

TEST_CASE("plan/search: limits that do not bind take one solve") {
  Random random(3, 0);
  const auto [network, arcs] = random_network(random, {.least_variables = 5, .most_producers = 2});
  MemoryLimits limits;
  CHECK(solve_within(network, limits, {}, arcs).solution.exact);
  limits.points.push_back({7, 10, {{0, std::vector<double>(idx(network.values(0)), 1.0)}}});
  limits.cap = 11;
  const FittingSolution found = solve_within(network, limits, {}, arcs);
  CHECK(found.fits);
  CHECK(found.solution.exact);
  CHECK(found.solves == 1);
  CHECK(found.solution.cost == solve(network, {}, arcs).cost);
  SearchLimits no_tables;
  no_tables.table = 1;
  CHECK(solve_within(network, limits, {}, arcs, no_tables).solves == 1);
}

TEST_CASE("plan/search: multipliers keep assignments of zero cost") {
  // The cheapest assignments of all variables cost nothing, so 2 % of the cost is nothing too.
  Network network;
  MemoryLimits limits{2, 2, 24, {{5, 0, {}}}};
  for (int v = 0; v < 6; ++v) {
    network.add(network.add_variable(2), {0, 1.0 + v});
    limits.points[0].terms.push_back({v, {1, 0}});
  }
  const FittingSolution found = solve_within(network, limits, {}, {});
  CHECK(found.fits);
  CHECK(found.solution.values == Assignment{1, 1, 1, 1, 0, 0});
  CHECK(found.solution.exact);
  limits.cap = -1;
  const FittingSolution exceeding = solve_within(network, limits, {}, {});
  CHECK(!exceeding.fits);
  CHECK(exceeding.excess == 1);
  CHECK(exceeding.worst == 5);
}

TEST_CASE("plan/search: where nothing is allowed no multiplier helps") {
  Network network;
  network.add(network.add_variable(2), {kForbidden, kForbidden});
  const FittingSolution found = solve_within(network, {0, 1, 24, {{5, 1, {}}}}, {}, {});
  CHECK(!found.fits);
  CHECK(found.solution.cost == kForbidden);
  CHECK(found.solution.exact);
  CHECK(found.solves == 1);
}

TEST_CASE("plan/search: exceeding the limit is better than a forbidden entry") {
  Network network;
  network.add(network.add_variable(2), {kForbidden, 0});
  const FittingSolution found = solve_within(network, {5, 1, 24, {{1, 0, {{0, {0, 10}}}}}}, {0}, {});
  CHECK(!found.fits);
  CHECK(found.solution.values == Assignment{1});
  CHECK(found.excess == 5);
}

TEST_CASE("plan/search: small changes swap what two variables hold") {
  // Only one of the two may hold 10 bytes; variable 1 gains more.
  Network network;
  network.add(network.add_variable(2), {0, 3});
  network.add(network.add_variable(2), {0, 5});
  const MemoryLimits limits{10, 1, 24, {{1, 0, {{0, {10, 0}}, {1, {10, 0}}}}}};
  Assignment x{0, 1};
  improve_within(network, limits, x, 1000);
  CHECK(x == Assignment{1, 0});
  x = {0, 0};
  improve_within(network, limits, x, 1000);
  CHECK(excess_of(limits, x) == 0);
  x = {0, 1};
  CHECK(improve_within(network, limits, x, 0) == 0);
  CHECK(x == Assignment{0, 1});
}

TEST_CASE("plan/search: limits of five hundred variables take a bounded number of entries") {
  const RandomNetwork large = large_network(500, 1500, 60, 20);
  MemoryLimits limits{6000, 6000, 24, {}};
  for (int p = 0; p < 500; ++p) {
    MemoryLimits::Point point{p, 0, {}};
    for (int v = std::max(0, p - 20); v <= p; ++v) {
      MemoryLimits::Term term{v, {}};
      for (int s = 0; s < large.network.values(v); ++s) term.bytes.push_back((37 * s + 11 * v) % 1000);
      point.terms.push_back(std::move(term));
    }
    limits.points.push_back(std::move(point));
  }
  SearchLimits search;
  search.work = Index{1} << 27;
  const FittingSolution found = solve_within(large.network, limits, {}, large.arcs, search);
  check_answer(large.network, limits, found);
  CHECK(found.fits);
  CHECK(found.solves == limits.solves);  // the first ones leave work for the others
  CHECK(found.solution.work <= search.work + 2 * large.network.entries());
  CHECK(solve_within(large.network, limits, {}, large.arcs, search).solution.values == found.solution.values);
}
