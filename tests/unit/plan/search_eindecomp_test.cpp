#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/search/solve.h"

using namespace tdsl::plan;

// The costs of section 7 of the EinDecomp paper, in elements, and the optima of its matrix chain (A B) + (C (D E))
// found by hand. They are an upper bound that includes data already on the rank, so only tests use them.

namespace {

/// A number per label: its extent, or its number of parts.
using PerLabel = std::map<char, double>;

double product_of(const PerLabel& d, const std::string& labels) {
  double n = 1;
  for (const char label : labels) n *= d.at(label);
  return n;
}

/// Elements of a block of a tensor with these labels.
double block(const PerLabel& n, const PerLabel& d, const std::string& labels) {
  return product_of(n, labels) / product_of(d, labels);
}

/// Z = agg(join(X, Y)), by labels: `{"ij", "jk", "ik"}` is a product of matrices.
struct Expression {
  std::string x, y, z;

  [[nodiscard]] std::string labels() const {
    std::string distinct = x;
    for (const char label : y) distinct += distinct.find(label) == std::string::npos ? std::string(1, label) : "";
    return distinct;
  }
  [[nodiscard]] double calls(const PerLabel& d) const { return product_of(d, labels()); }
  [[nodiscard]] double join_cost(const PerLabel& n, const PerLabel& d) const {
    return calls(d) * (block(n, d, x) + block(n, d, y));
  }
  [[nodiscard]] double aggregation_cost(const PerLabel& n, const PerLabel& d) const {
    double summed = 1;
    for (const char label : labels()) summed *= z.find(label) == std::string::npos ? d.at(label) : 1;
    return calls(d) / summed * (summed - 1) * block(n, d, z);
  }
  [[nodiscard]] double cost(const PerLabel& n, const PerLabel& d) const {
    return join_cost(n, d) + aggregation_cost(n, d);
  }

  /// All ways to cut the labels into powers of two, `processors` blocks together.
  [[nodiscard]] std::vector<PerLabel> viable(const PerLabel& n, double processors) const {
    return cuts(n, labels(), processors);
  }

 private:
  [[nodiscard]] static std::vector<PerLabel> cuts(const PerLabel& n, const std::string& labels, double processors) {
    std::vector<PerLabel> result;
    if (labels.empty()) return processors == 1 ? std::vector<PerLabel>(1) : result;
    for (double d = 1; d <= std::min(processors, n.at(labels.front())); d *= 2) {
      for (PerLabel& rest : cuts(n, labels.substr(1), processors / d)) {
        rest[labels.front()] = d;
        result.push_back(std::move(rest));
      }
    }
    return result;
  }
};

const Expression kProduct{"ij", "jk", "ik"};
const Expression kSum{"ik", "ik", "ik"};

/// From a producer's parts to a consumer's, both per dimension.
double repartition_cost(const std::vector<double>& n, const std::vector<double>& producer,
                        const std::vector<double>& consumer) {
  double all = 1, made = 1, wanted = 1, common = 1;
  for (std::size_t k = 0; k < n.size(); ++k) {
    all *= n[k];
    made *= n[k] / producer[k];
    wanted *= n[k] / consumer[k];
    common *= std::min(n[k] / producer[k], n[k] / consumer[k]);
  }
  return (wanted / common - 1) * (all / wanted) * (wanted + made) + (made != common ? made * all / wanted : 0);
}

/// (A B) + (C (D E)): matrices s x inner, inner x s; s x inner, inner x wide, wide x s.
struct ChainSizes {
  double s, inner, wide;
  [[nodiscard]] std::vector<PerLabel> extents() const {
    return {{{'i', s}, {'j', inner}, {'k', s}},
            {{'i', inner}, {'j', wide}, {'k', s}},
            {{'i', s}, {'j', inner}, {'k', s}},
            {{'i', s}, {'k', s}}};
  }
};

/// The chain as a network: variables AB, DE, C(DE) and the sum.
struct Chain {
  Network network;
  std::vector<Arc> arcs{{0, 3}, {1, 2}, {2, 3}};

  Chain(const ChainSizes& sizes, double p) {
    const std::vector<PerLabel> extents = sizes.extents();
    std::vector<std::vector<PerLabel>> ways;
    for (int v = 0; v < 4; ++v) {
      const Expression& expression = v < 3 ? kProduct : kSum;
      ways.push_back(expression.viable(extents[idx(v)], p));
      std::vector<double> own;
      for (const PerLabel& d : ways.back()) own.push_back(expression.cost(extents[idx(v)], d));
      network.add_variable(static_cast<int>(own.size()));
      network.add(v, own);
    }
    const auto connect = [&](int from, int to, const std::vector<double>& n, const std::string& consumed) {
      std::vector<double> table;
      for (const PerLabel& d : ways[idx(from)]) {
        for (const PerLabel& e : ways[idx(to)])
          table.push_back(repartition_cost(n, {d.at('i'), d.at('k')}, {e.at(consumed[0]), e.at(consumed[1])}));
      }
      network.add(from, to, table);
    };
    connect(0, 3, {sizes.s, sizes.s}, "ik");
    connect(2, 3, {sizes.s, sizes.s}, "ik");
    connect(1, 2, {sizes.inner, sizes.s}, "jk");
  }
};

}  // namespace

TEST_CASE("plan/search: EinDecomp's costs of one product") {
  const PerLabel n{{'i', 8}, {'j', 8}, {'k', 8}};
  const auto costs = [&](double i, double j, double k) {
    const PerLabel d{{'i', i}, {'j', j}, {'k', k}};
    CHECK(kProduct.calls(d) == 16);
    return std::pair(kProduct.join_cost(n, d), kProduct.aggregation_cost(n, d));
  };
  CHECK(costs(4, 1, 4) == std::pair(512.0, 0.0));
  CHECK(costs(2, 1, 8) == std::pair(640.0, 0.0));
  CHECK(costs(2, 4, 2) == std::pair(256.0, 192.0));
  CHECK(costs(2, 2, 4) == std::pair(384.0, 64.0));
  CHECK(repartition_cost({8, 8}, {2, 4}, {4, 1}) == 320);
  CHECK(repartition_cost({8, 8}, {2, 4}, {2, 4}) == 0);
  CHECK(kProduct.viable(n, 8).size() == 10);
  PerLabel six;
  for (const char label : std::string("abcdef")) six[label] = 1024;
  CHECK(Expression{"abcd", "cdef", "abef"}.viable(six, 1024).size() == 3003);
}

TEST_CASE("plan/search: EinDecomp's matrix chain") {
  const auto least = [](const ChainSizes& sizes, double p) {
    const Chain chain(sizes, p);
    const double cost = eliminate(chain.network, elimination_order(chain.network)).cost;
    SearchLimits no_tables;
    no_tables.table = 1;
    CHECK(solve(chain.network, {}, chain.arcs, no_tables).cost == cost);
    CHECK(linearise(chain.network, chain.arcs).cost >= cost);
    return cost;
  };
  CHECK(least({40, 40, 40}, 4) == 22400);
  CHECK(least({40, 4, 400}, 4) == 22880);
  CHECK(least({160, 160, 160}, 2) == 281600);
  CHECK(least({160, 16, 1600}, 2) == 350720);
}

TEST_CASE("plan/search: EinDecomp's square grids") {
  // Every label cut sqrt(p) ways, including summed ones, so that nothing is repartitioned: 17 and 26.9 s^2 at p = 4.
  const auto square = [](const ChainSizes& sizes) {
    double cost = 0;
    const std::vector<PerLabel> extents = sizes.extents();
    for (std::size_t v = 0; v < 4; ++v) {
      PerLabel d;
      for (const auto& [label, extent] : extents[v]) d[label] = 2;
      cost += (v < 3 ? kProduct : kSum).cost(extents[v], d);
    }
    return cost;
  };
  CHECK(square({40, 40, 40}) == 17 * 1600);
  CHECK(square({40, 4, 400}) == doctest::Approx(26.9 * 1600).epsilon(1e-12));
}
