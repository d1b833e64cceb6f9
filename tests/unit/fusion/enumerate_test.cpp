#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "passes/fusion/enumerate.h"

// The enumeration of fusion plans compared with exhaustive search.

using namespace tdsl::passes::fusion_plans;

namespace {

Operator fusion_operator(std::vector<int> operands, std::vector<int> sources, double compute, double read,
                         double write) {
  return {std::move(operands), std::move(sources), compute, read, write};
}

/// A partition of operators with up to two operands each; edges to values with several readers, and some others, are
/// fusion points.
Partition random_partition(std::mt19937_64& random) {
  const auto number = [&](int lo, int hi) {
    return static_cast<int>(lo + static_cast<int>(random() % static_cast<std::uint64_t>(hi - lo + 1)));
  };
  Partition p;
  const int count = number(2, 9);
  for (int s = number(1, 3); s > 0; --s) p.source_reads.push_back(number(0, 8));
  std::vector<int> readers(static_cast<std::size_t>(count), 0);
  for (int k = 0; k < count; ++k) {
    Operator op = fusion_operator({}, {}, number(0, 10), number(0, 5), number(0, 5));
    for (int operand = 0; operand < 2; ++operand) {
      const int from = number(0, std::max(0, k - 1));
      if (k > 0 && number(0, 3) > 0 && std::find(op.operands.begin(), op.operands.end(), from) == op.operands.end()) {
        op.operands.push_back(from);
        ++readers[static_cast<std::size_t>(from)];
      }
    }
    if (op.operands.empty()) op.sources.push_back(number(0, static_cast<int>(p.source_reads.size()) - 1));
    p.operators.push_back(std::move(op));
  }
  for (int k = 0; k < count; ++k) {
    if (readers[static_cast<std::size_t>(k)] == 0) p.roots.push_back(k);
    for (const int operand : p.operators[static_cast<std::size_t>(k)].operands) {
      const bool shared = readers[static_cast<std::size_t>(operand)] > 1;
      if ((shared || number(0, 4) == 0) && p.points.size() < 8) p.points.push_back({operand, k});
    }
  }
  // Bounds count every source once, so all sources must be read.
  for (int s = 0; s < static_cast<int>(p.source_reads.size()); ++s) p.operators.front().sources.push_back(s);
  std::sort(p.operators.front().sources.begin(), p.operators.front().sources.end());
  p.operators.front().sources.erase(std::unique(p.operators.front().sources.begin(), p.operators.front().sources.end()),
                                    p.operators.front().sources.end());
  return p;
}

/// By exhaustive search; counts assignments cheaper than their bounds.
double cheapest(const Partition& p, int& below) {
  double best = cost_of(p, 0);
  for (Assignment a = 0; a < Assignment{1} << p.points.size(); ++a) {
    const double cost = cost_of(p, a);
    best = std::min(best, cost);
    below += cost < lower_bound(p, a) ? 1 : 0;
  }
  return best;
}

/// Takes a minute when instrumented.
#ifdef __SANITIZE_ADDRESS__
constexpr int kGraphs = 1000;
#else
constexpr int kGraphs = 20000;
#endif

}  // namespace

TEST_CASE("fusion plans: a value that two operators read is stored where that is cheaper") {
  // The target computes 4 and reads 1; each of two readers computes 10. Fused twice: 2 (10 + 4) = 28. Materialised: 4 +
  // 1 + 2 * 10 = 25.
  Partition p;
  p.source_reads = {1};
  p.operators = {fusion_operator({}, {0}, 4, 3, 1), fusion_operator({0}, {}, 10, 0, 0),
                 fusion_operator({0}, {}, 10, 0, 0)};
  p.roots = {1, 2};
  p.points = {{0, 1}, {0, 2}};
  CHECK(cost_of(p, 0) == 28);
  CHECK(cost_of(p, 3) == 25);
  CHECK(lower_bound(p, 3) == 25);
  const Best best = enumerate(p);
  CHECK(best.cost == 25);
  CHECK(best.assignment == 3);
}

TEST_CASE("fusion plans: pruned and exhaustive search agree on 20,000 random graphs") {
  std::mt19937_64 random(7);
  std::int64_t all = 0, costed = 0, by_cost = 0;
  int below = 0;
  for (int graph = 0; graph < kGraphs; ++graph) {
    const Partition p = random_partition(random);
    const double best = cheapest(p, below);
    const Best pruned = enumerate(p);
    const Best bounded = enumerate(p, {true, false});
    const Best parts = enumerate(p, {false, true});
    CAPTURE(graph);
    REQUIRE(pruned.cost == best);
    REQUIRE(bounded.cost == best);
    REQUIRE(parts.cost == best);
    all += std::int64_t{1} << p.points.size();
    costed += pruned.costed;
    by_cost += bounded.costed;
  }
  MESSAGE("fusion plans of " << kGraphs << " random graphs: " << all << ", costed by bounds " << by_cost
                             << ", by bounds and parts " << costed);
  CHECK(below == 0);
  CHECK(costed < all);
}
