#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "runtime/plan/search/solve.h"

using namespace tdsl::plan;

// The costs that section 7 of the EinDecomp paper charges, in elements, and the least ones of its matrix chain (A B) + (C (D E)) as found
// by hand. They are an upper bound that charges what a rank already has, so that only tests use them.

namespace {

using Parts = std::vector<double>;

double parts_of(const Parts& d) {
  double n = 1;
  for (const double part : d) n *= part;
  return n;
}

/// Elements of a block of a matrix.
double block(const Parts& extents, const Parts& d) { return extents[0] / d[0] * extents[1] / d[1]; }

/// Z[i, k] = sum over j of X[i, j] Y[j, k]; extents and parts of i, j, k.
double product_cost(const Parts& n, const Parts& d) {
  const double join = parts_of(d) * (block({n[0], n[1]}, {d[0], d[1]}) + block({n[1], n[2]}, {d[1], d[2]}));
  return join + parts_of(d) / d[1] * (d[1] - 1) * block({n[0], n[2]}, {d[0], d[2]});
}

/// Z[i, k] = X[i, k] + Y[i, k].
double sum_cost(const Parts& n, const Parts& d) { return parts_of(d) * 2 * block(n, d); }

double repartition_cost(const Parts& n, const Parts& producer, const Parts& consumer) {
  const double made = block(n, producer);
  const double wanted = block(n, consumer);
  const double common = std::min(n[0] / producer[0], n[0] / consumer[0]) * std::min(n[1] / producer[1], n[1] / consumer[1]);
  const double all = n[0] * n[1];
  return (wanted / common - 1) * (all / wanted) * (wanted + made) + (made != common ? made * all / wanted : 0);
}

/// All ways to cut labels into powers of two, `processors` blocks together.
std::vector<Parts> cuts(const Parts& extents, double processors) {
  std::vector<Parts> result;
  if (extents.empty()) return processors == 1 ? std::vector<Parts>{{}} : result;
  for (double d = 1; d <= std::min(processors, extents[0]); d *= 2) {
    for (const Parts& rest : cuts({extents.begin() + 1, extents.end()}, processors / d)) {
      result.push_back({d});
      result.back().insert(result.back().end(), rest.begin(), rest.end());
    }
  }
  return result;
}

/// The chain as a network: variables AB, DE, C(DE) and the sum.
struct Chain {
  Network network;
  std::vector<Arc> arcs{{0, 3}, {1, 2}, {2, 3}};

  /// Matrices s x inner, inner x s; s x inner, inner x wide, wide x s.
  Chain(double s, double inner, double wide, double p) {
    const std::vector<Parts> extents{{s, inner, s}, {inner, wide, s}, {s, inner, s}, {s, s}};
    std::vector<std::vector<Parts>> ways;
    for (int v = 0; v < 4; ++v) {
      const Parts& n = extents[idx(v)];
      ways.push_back(cuts(n, p));
      std::vector<double> own;
      for (const Parts& d : ways.back()) own.push_back(v < 3 ? product_cost(n, d) : sum_cost(n, d));
      network.add_variable(static_cast<int>(own.size()));
      network.add(v, own);
    }
    const auto connect = [&](int from, int to, const Parts& n, auto&& consumed) {
      std::vector<double> table;
      for (const Parts& d : ways[idx(from)]) {
        for (const Parts& e : ways[idx(to)]) table.push_back(repartition_cost(n, {d[0], d[2]}, consumed(e)));
      }
      network.add(from, to, table);
    };
    const auto whole = [](const Parts& e) { return e; };
    connect(0, 3, {s, s}, whole);
    connect(2, 3, {s, s}, whole);
    connect(1, 2, {inner, s}, [](const Parts& e) { return Parts{e[1], e[2]}; });
  }
};

}  // namespace

TEST_CASE("plan/search: EinDecomp's costs of one product") {
  const Parts n{8, 8, 8};
  CHECK(product_cost(n, {4, 1, 4}) == 512);
  CHECK(product_cost(n, {2, 1, 8}) == 640);
  CHECK(product_cost(n, {2, 4, 2}) == 448);
  CHECK(product_cost(n, {2, 2, 4}) == 448);
  CHECK(repartition_cost({8, 8}, {2, 4}, {4, 1}) == 320);
  CHECK(repartition_cost({8, 8}, {2, 4}, {2, 4}) == 0);
  CHECK(cuts(n, 8).size() == 10);
}

TEST_CASE("plan/search: EinDecomp's matrix chain") {
  const auto least = [](double s, double inner, double wide, double p) {
    const Chain chain(s, inner, wide, p);
    const double cost = eliminate(chain.network)->cost;
    SearchLimits no_tables;
    no_tables.table = 1;
    CHECK(solve(chain.network, {}, chain.arcs, no_tables).cost == cost);
    CHECK(linearise(chain.network, chain.arcs).cost >= cost);
    return cost;
  };
  CHECK(least(40, 40, 40, 4) == 22400);
  CHECK(least(40, 4, 400, 4) == 22880);
  CHECK(least(160, 160, 160, 2) == 281600);
  CHECK(least(160, 16, 1600, 2) == 350720);
}
