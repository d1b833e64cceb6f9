#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "runtime/plan/space/node_grid.h"
#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/random.h"

using namespace tdsl::plan;
using tdsl::tests::Random;
using tdsl::tests::Recorder;

namespace {

using Factors = std::vector<Index>;

Index product_of(const Factors& factors) {
  return std::accumulate(factors.begin(), factors.end(), Index{1}, std::multiplies<>());
}

/// The coordinates of every rank of a grid with these axes; empty unless they are a bijection.
std::vector<Factors> coordinates(const Factors& factors, const std::vector<std::vector<GridAxis>>& axes) {
  std::vector<Factors> of_rank(static_cast<std::size_t>(product_of(factors)));
  Factors now(factors.size(), 0);
  while (true) {
    Index rank = 0;
    for (std::size_t k = 0; k < factors.size(); ++k) { rank += GridDim{axes[k]}.rank_part(now[k]); }
    if (rank >= static_cast<Index>(of_rank.size()) || !of_rank[static_cast<std::size_t>(rank)].empty()) return {};
    of_rank[static_cast<std::size_t>(rank)] = now;
    std::size_t k = factors.size();
    while (k > 0 && ++now[k - 1] == factors[k - 1]) now[--k] = 0;
    if (k == 0) return of_rank;
  }
}

/// Bytes of the operands needed by the ranks [first, first + count), rank by rank.
double needed(const std::vector<Factors>& of_rank, Index first, Index count, const Factors& factors,
              const std::vector<GridOperand>& operands) {
  double bytes = 0;
  for (const GridOperand& operand : operands) {
    std::set<Factors> parts;
    Index all = 1;
    for (std::size_t k = 0; k < factors.size(); ++k) all *= operand.along[k] ? factors[k] : 1;
    for (Index rank = first; rank < first + count; ++rank) {
      Factors part = of_rank[static_cast<std::size_t>(rank)];
      for (std::size_t k = 0; k < part.size(); ++k) part[k] = operand.along[k] ? part[k] : 0;
      parts.insert(part);
    }
    bytes += operand.bytes * static_cast<double>(parts.size()) / static_cast<double>(all);
  }
  return bytes;
}

/// f(inner) for every assignment of ranks to nodes.
void for_each_inner(const Factors& factors, Index per_node, const std::function<void(const Factors&)>& f) {
  Factors now(factors.size(), 1);
  while (true) {
    if (product_of(now) == per_node) f(now);
    std::size_t k = factors.size();
    while (k > 0) {
      --k;
      do ++now[k];
      while (now[k] <= factors[k] && factors[k] % now[k] != 0);
      if (now[k] <= factors[k]) break;
      now[k] = 1;
      if (k == 0) return;
    }
  }
}

/// For C[i,j] = sum[k](A[i,k] B[k,j]) over axes (k, i, j).
std::vector<GridOperand> product_operands(double a, double b) {
  return {{a, {true, true, false}}, {b, {true, false, true}}};
}

}  // namespace

TEST_CASE("node grids of products: as square as the operands are") {
  const auto chosen = [](const Factors& factors, Index per_node, double a, double b) {
    return node_grid(factors, per_node, product_operands(a, b));
  };
  CHECK(chosen({1, 4, 4}, 4, 1, 1) == Factors{1, 2, 2});
  CHECK(chosen({1, 2, 8}, 4, 1, 1) == Factors{1, 1, 4});
  CHECK(chosen({1, 8, 2}, 4, 1, 1) == Factors{1, 4, 1});
  CHECK(chosen({1, 4, 4}, 4, 100, 1) == Factors{1, 1, 4});
  CHECK(chosen({1, 4, 4}, 4, 1, 100) == Factors{1, 4, 1});
  CHECK(chosen({1, 4, 3}, 4, 1, 1) == Factors{1, 4, 1});
  // Without preferences: row-major.
  CHECK(node_grid({4, 4}, 4, {{1, {true, true}}}) == Factors{1, 4});
  CHECK(node_grid({8, 2}, 4, {}) == Factors{2, 2});
}

TEST_CASE("node grids: a node is a box of the grid, and no other choice needs fewer bytes, counted rank by rank") {
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(2); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    Factors factors;
    for (int axes = random.small(1, 3); axes > 0; --axes) factors.push_back(random.one_of<Index>({1, 2, 3, 4, 6, 8}));
    const Index ranks = product_of(factors);
    Factors divisors;
    for (Index g = 1; g <= ranks; ++g) {
      if (ranks % g == 0) divisors.push_back(g);
    }
    const Index per_node = random.one_of(divisors);
    std::vector<GridOperand> operands;
    for (int count = random.small(0, 3); count > 0; --count) {
      GridOperand operand{static_cast<double>(random.in(1, 50)), {}};
      for (std::size_t k = 0; k < factors.size(); ++k) operand.along.push_back(random.chance(60));
      operands.push_back(operand);
    }
    CAPTURE(n);
    const Factors inner = node_grid(factors, per_node, operands);
    REQUIRE(inner.size() == factors.size());
    const std::vector<Factors> of_rank = coordinates(factors, grid_axes(factors, inner));
    REQUIRE(static_cast<Index>(of_rank.size()) == ranks);
    const double bytes = needed(of_rank, 0, per_node, factors, operands);
    for (Index first = 0; first < ranks; first += per_node) {
      for (std::size_t k = 0; k < factors.size(); ++k) {
        std::set<Index> here;
        for (Index rank = first; rank < first + per_node; ++rank)
          here.insert(of_rank[static_cast<std::size_t>(rank)][k]);
        REQUIRE(static_cast<Index>(here.size()) == inner[k]);
        REQUIRE(*here.rbegin() - *here.begin() + 1 == inner[k]);
      }
      REQUIRE(needed(of_rank, first, per_node, factors, operands) == doctest::Approx(bytes));
    }
    for_each_inner(factors, per_node, [&](const Factors& other) {
      REQUIRE(needed(coordinates(factors, grid_axes(factors, other)), 0, per_node, factors, operands) >=
              bytes * (1 - 1e-6));
    });
  }
}

TEST_CASE("node grids: without nodes ranks are numbered in row-major order") {
  const std::vector<std::vector<GridAxis>> axes = grid_axes({2, 1, 3, 4}, {1, 1, 1, 1});
  CHECK(axes == std::vector<std::vector<GridAxis>>{{{2, 12}}, {}, {{3, 4}}, {{4, 1}}});
  // Also if nodes are rows, or whole numbers of rows.
  CHECK(grid_axes({4, 4}, {1, 4}) == grid_axes({4, 4}, {1, 1}));
  CHECK(grid_axes({8, 2}, {2, 2}) == grid_axes({8, 2}, {1, 1}));
}

TEST_CASE("products on nodes: 16 ranks, 4 a node, are 2 x 2 nodes of 2 x 2 ranks, and one node has no say") {
  const auto planned = [](Index per_node) {
    PlanInputs inputs;
    inputs.ranks = 16;
    inputs.ranks_per_node = per_node;
    Recorder recorder(inputs);
    const TensorId a = recorder.source("A", {4000, 4000});
    const TensorId b = recorder.source("B", {4000, 4000});
    recorder.product(a, false, b, false, 4000, 4000, 4000);
    const auto ops = recorder.run();
    return std::pair(ops.back()->plan, recorder.planner.hash());
  };
  const auto [flat, flat_hash] = planned(1);
  const auto [square, square_hash] = planned(4);
  CHECK(square.why == flat.why + ", nodes 2x2 of 2x2 ranks");
  CHECK(square.space.tilings() == flat.space.tilings());
  for (const Index rank : {0, 1, 2, 3}) {
    for (int d = 0; d < 2; ++d) CHECK(square.space.tiling(d).tile(square.space.owned_along(rank, d).back()).hi <= 2000);
  }
  CHECK(square_hash != flat_hash);
  // A single node, or nodes not filled by the ranks.
  for (const Index per_node : {16, 3, 32}) {
    const auto [same, hash] = planned(per_node);
    CHECK(same.space == flat.space);
    CHECK(same.why == flat.why);
    CHECK(hash == flat_hash);
  }
}
