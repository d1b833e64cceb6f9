#include <doctest/doctest.h>

#include "runtime/plan/search/dead_ends.h"
#include "runtime/plan/search/eliminate.h"
#include "tests/unit/plan/search_networks.h"

using namespace tdsl::plan;
using tdsl::tests::BruteForce;
using tdsl::tests::large_network;
using tdsl::tests::NetworkShape;
using tdsl::tests::Random;
using tdsl::tests::random_assignment;
using tdsl::tests::random_network;
using tdsl::tests::RandomNetwork;
using tdsl::tests::test_cases;
using tdsl::tests::test_seed;

namespace {

void check_elimination(const Network& network, const BruteForce& truth) {
  const std::optional<Answer> answer = tdsl::tests::eliminate(network);
  REQUIRE(answer);
  CHECK(answer->cost == truth.least);
  CHECK(network.cost(answer->values) == truth.least);
  const auto marginals = tdsl::tests::min_marginals(network);
  REQUIRE(marginals);
  CHECK(*marginals == truth.imposed);
  const EliminationOrder order = elimination_order(network);
  CHECK(elimination_order(network, order.largest).fits);
  if (order.largest > 0) {
    const EliminationOrder refused = elimination_order(network, order.largest - 1);
    CHECK(refused.fits == (refused.largest < order.largest));
    if (!refused.fits) CHECK(!tdsl::tests::eliminate(network, order.largest - 1));
  }
}

void check_dead_ends(const Network& network, const BruteForce& truth, Random& random, Index work) {
  const DeadEnds smaller = without_dead_ends(network, work);
  const std::optional<Answer> answer = tdsl::tests::eliminate(smaller.network);
  REQUIRE(answer);
  CHECK(answer->cost == truth.least);
  CHECK(network.cost(smaller.original(answer->values)) == truth.least);
  const Assignment x = random_assignment(random, network);
  const Assignment y = smaller.reduced(x);
  CHECK(smaller.network.cost(y) <= network.cost(x));
  CHECK(smaller.network.cost(y) == network.cost(smaller.original(y)));
  for (std::size_t v = 0; v < smaller.kept.size(); ++v) {
    CHECK(std::is_sorted(smaller.kept[v].begin(), smaller.kept[v].end()));
    for (std::size_t k = 0; k < smaller.kept[v].size(); ++k)
      CHECK(smaller.heir[v][idx(smaller.kept[v][k])] == static_cast<int>(k));
  }
}

/// The example of runtime/plan/search/README.md.
Network three_operations() {
  Network network;
  for (int v = 0; v < 3; ++v) network.add_variable(2);
  network.add(2, {3, 0});
  network.add(0, 1, {0, 5, 5, 0});
  network.add(1, 2, {0, 6, 7, 4});
  return network;
}

}  // namespace

TEST_CASE("plan/search: a network sums tables of a pair, whichever way round") {
  Network network;
  network.add_variable(2);
  network.add_variable(3);
  network.add(0, 1, {1, 2, 3, 4, 5, 6});
  network.add(1, 0, {10, 20, 30, 40, 50, 60});
  CHECK(network.edges().size() == 1);
  CHECK(network.edges()[0].cost == std::vector<double>{11, 32, 53, 24, 45, 66});
  CHECK(network.view(0, 1).at(2, 0) == 53);
  CHECK(network.cost({1, 2}) == 66);
  CHECK(network.entries() == 11);
  const Network part = network.restricted({{1}, {2, 0}});
  CHECK(part.cost({0, 0}) == 66);
  CHECK(part.cost({0, 1}) == 24);
}

TEST_CASE("plan/search: invalid costs are refused") {
  Network network;
  network.add_variable(2);
  network.add_variable(1);
  CHECK_THROWS(network.add(0, {1, -1}));
  CHECK_THROWS(network.add(0, {1, std::numeric_limits<double>::quiet_NaN()}));
  CHECK_THROWS(network.add(0, {1}));
  CHECK_THROWS(network.add(0, 1, {1, 2, 3}));
  CHECK_THROWS(network.add(1, 1, {1}));
  CHECK_THROWS(network.add_variable(0));
}

TEST_CASE("plan/search: the example of the README") {
  const Network network = three_operations();
  const std::optional<Answer> answer = tdsl::tests::eliminate(network);
  REQUIRE(answer);
  CHECK(answer->values == Assignment{0, 0, 0});
  CHECK(answer->cost == 3);
  CHECK(elimination_order(network).variables == std::vector<int>{0, 1, 2});
  CHECK(*tdsl::tests::min_marginals(network) == std::vector<std::vector<double>>{{3, 4}, {3, 4}, {3, 4}});
}

TEST_CASE("plan/search: elimination finds what brute force finds") {
  const auto run = [](const NetworkShape& shape, std::uint64_t cases, std::uint64_t stream) {
    for (std::uint64_t k = 0; k < cases; ++k) {
      CAPTURE(k);
      Random random(test_seed() + stream, k);
      NetworkShape this_shape = shape;
      this_shape.forbidden_percent = k % 3 == 0 ? 25 : 0;
      const Network network = random_network(random, this_shape).network;
      const BruteForce truth(network);
      check_elimination(network, truth);
      check_dead_ends(network, truth, random, k % 7 == 0 ? random.in(1, 100) : Index{1} << 30);
    }
  };
  SUBCASE("on trees") { run({}, test_cases(50), 0); }
  SUBCASE("on graphs") { run({.least_variables = 3, .most_producers = 3}, test_cases(10), 1); }
}

TEST_CASE("plan/search: what leaves the least table is eliminated first") {
  // Eliminated in numerical order, the hub of a star would join its twenty leaves in one table.
  Network star;
  star.add_variable(3);
  for (int v = 1; v <= 20; ++v) {
    star.add_variable(2);
    star.add(0, v, {0, 1, 1, 0, 1, 1});
  }
  const EliminationOrder order = elimination_order(star, Index{1} << 30);
  CHECK(order.fits);
  CHECK(order.variables.front() == 1);
  CHECK(order.largest == 6);
  CHECK(order.messages ==
        19 * 3 + 2 + 1);  // the hub is eliminated before the last leaf: its message has two entries, not three
  CHECK(order.entries == 20 * 6 + 2);
  CHECK(tdsl::tests::eliminate(star, 6)->cost == 0);
}

TEST_CASE("plan/search: costs that are no integers") {
  // Sums in another order may differ only in their last bits.
  for (std::uint64_t k = 0; k < 200; ++k) {
    CAPTURE(k);
    Random random(test_seed() + 2, k);
    const Network whole = random_network(random, {.least_variables = 3, .most_producers = 3}).network;
    Network network;
    for (int v = 0; v < whole.variables(); ++v) network.add_variable(whole.values(v));
    for (const Network::Edge& edge : whole.edges()) {
      std::vector<double> cost = edge.cost;
      for (double& c : cost) c = (c + 0.1) / 7e5;
      network.add(edge.first, edge.second, cost);
    }
    const BruteForce truth(network);
    CHECK(tdsl::tests::eliminate(network)->cost == doctest::Approx(truth.least).epsilon(1e-12));
    CHECK(tdsl::tests::eliminate(without_dead_ends(network, Index{1} << 30).network)->cost ==
          doctest::Approx(truth.least).epsilon(1e-12));
    const auto marginals = tdsl::tests::min_marginals(network);
    for (std::size_t v = 0; v < truth.imposed.size(); ++v) {
      for (std::size_t s = 0; s < truth.imposed[v].size(); ++s) {
        CHECK((*marginals)[v][s] == doctest::Approx(truth.imposed[v][s]).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("plan/search: a network in which nothing is allowed") {
  Network network;
  for (int v = 0; v < 3; ++v) network.add_variable(2);
  network.add(0, 1, {kForbidden, 0, 0, kForbidden});
  network.add(1, 2, {kForbidden, 0, 0, kForbidden});
  network.add(0, 2, {kForbidden, 0, 0, kForbidden});
  CHECK(tdsl::tests::eliminate(network)->cost == kForbidden);
  CHECK(*tdsl::tests::min_marginals(network) ==
        std::vector<std::vector<double>>(3, std::vector<double>(2, kForbidden)));
  network.add(0, {kForbidden, kForbidden});
  const DeadEnds smaller = without_dead_ends(network, 1000);
  CHECK(smaller.kept[0] == std::vector<int>{0});
  CHECK(tdsl::tests::eliminate(smaller.network)->cost == kForbidden);
}

TEST_CASE("plan/search: no variables, and none with a choice") {
  Network network;
  CHECK(tdsl::tests::eliminate(network)->cost == 0);
  CHECK(without_dead_ends(network, 100).complete);
  network.add_variable(1);
  network.add_variable(1);
  network.add(0, {2});
  network.add(0, 1, {3});
  CHECK(tdsl::tests::eliminate(network)->cost == 5);
  CHECK(*tdsl::tests::min_marginals(network) == std::vector<std::vector<double>>{{5}, {5}});
}

TEST_CASE("plan/search: of equal values the first is kept") {
  Network network;
  network.add_variable(4);
  network.add_variable(2);
  network.add(0, 1, {5, 1, 1, 5, 5, 1, 1, 5});  // the values 2 and 3 duplicate 0 and 1
  const DeadEnds smaller = without_dead_ends(network, 1000);
  CHECK(smaller.complete);
  CHECK(smaller.kept[0] == std::vector<int>{0, 1});
  CHECK(smaller.heir[0] == std::vector<int>{0, 1, 0, 1});
  CHECK(smaller.original(smaller.reduced({3, 1})) == Assignment{1, 1});
}

TEST_CASE("plan/search: a value that may be as cheap as a later one is kept") {
  // Value 0 of the first variable is never cheaper than value 1, but equally cheap where it matters.
  Network network;
  network.add_variable(2);
  network.add_variable(2);
  network.add(0, 1, {5, 1, 4, 1});
  const DeadEnds smaller = without_dead_ends(network, 1000);
  CHECK(smaller.kept == std::vector<std::vector<int>>{{0}, {1}});
}

TEST_CASE("plan/search: dead ends drop what another value beats whatever the neighbours do") {
  Network network;
  network.add_variable(3);
  network.add_variable(2);
  network.add_variable(2);
  network.add(0, {0, 5, 1});
  network.add(0, 1, {3, 0, 0, 1, 2, 0});
  network.add(0, 2, {0, 2, 2, 0, 0, 1});
  // At first neither value of the neighbours can be dropped, and of variable 0 only value 1: 5 + (0 or 1) + (2 or 0) is
  // more than 1 + (2 or 0) + (0 or 1) in all four cases. Without it value 1 of variable 1, and value 0 of variable 2,
  // are never worse; and then 0 + 0 + 0 is less than 1 + 0 + 0.
  const DeadEnds smaller = without_dead_ends(network, 1000);
  CHECK(smaller.kept == std::vector<std::vector<int>>{{0}, {1}, {0}});
  CHECK(!without_dead_ends(network, 1).complete);
}

TEST_CASE("plan/search: dead ends of a large network take a bounded number of entries") {
  const RandomNetwork large = large_network(500, 1500, 100, 20);
  const Index limit = 1 << 20;
  const DeadEnds smaller = without_dead_ends(large.network, limit);
  CHECK(!smaller.complete);
  Index widest = 0;  // allowance per variable beyond the limit: its tables once, and one comparison of two values
  for (int v = 0; v < large.network.variables(); ++v) {
    Index around = 0;
    for (const int e : large.network.edges_of(v))
      around += static_cast<Index>(large.network.edges()[idx(e)].cost.size()) + 102;
    widest = std::max(widest, around);
  }
  CHECK(smaller.work <= limit + widest);
}
