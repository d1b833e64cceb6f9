#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/search/eliminate.h"
#include "runtime/plan/search/linearise.h"
#include "runtime/plan/search/network.h"
#include "tests/unit/plan/random.h"

// Random cost networks for the tests of runtime/plan/search, and their minima by brute force. Costs are small integers:
// sums are exact, and ties are frequent.

namespace tdsl::tests {

/// Elimination in its own order; nothing if a table exceeds `limit`.
inline std::optional<plan::Answer> eliminate(const plan::Network& network, plan::Index limit = plan::kTableLimit) {
  const plan::EliminationOrder order = plan::elimination_order(network, limit);
  return order.fits ? std::optional(plan::eliminate(network, order)) : std::nullopt;
}

inline std::optional<plan::Marginals> min_marginals(const plan::Network& network) {
  const plan::EliminationOrder order = plan::elimination_order(network);
  return order.fits ? std::optional(plan::min_marginals(network, order)) : std::nullopt;
}

struct NetworkShape {
  int least_variables = 1;
  int most_variables = 7;
  int most_values = 4;
  int most_producers = 1;     ///< per variable, among its predecessors; 1: the network is a forest
  int forbidden_percent = 0;  ///< of the entries of tables
  int assignments = 2000;     ///< maximum, so that brute force is fast
};

struct RandomNetwork {
  plan::Network network;
  std::vector<plan::Arc> arcs;
};

inline std::vector<double> random_costs(Random& random, std::size_t entries, int forbidden_percent) {
  const int most = random.chance(30) ? 3 : 100;  // many ties, or few
  std::vector<double> costs;
  for (std::size_t k = 0; k < entries; ++k) {
    costs.push_back(random.chance(forbidden_percent) ? plan::kForbidden : static_cast<double>(random.small(0, most)));
  }
  return costs;
}

inline RandomNetwork random_network(Random& random, const NetworkShape& shape) {
  RandomNetwork made;
  const int variables = random.small(shape.least_variables, shape.most_variables);
  int assignments = 1;
  for (int v = 0; v < variables; ++v) {
    const int values = std::max(1, std::min(random.small(1, shape.most_values), shape.assignments / assignments));
    assignments *= values;
    made.network.add_variable(values);
    if (random.chance(70)) made.network.add(v, random_costs(random, plan::idx(values), shape.forbidden_percent / 4));
    if (v == 0) continue;
    for (int k = random.small(0, shape.most_producers); k > 0; --k) {
      const int u = random.small(0, v - 1);
      const std::size_t entries = plan::idx(made.network.values(u)) * plan::idx(values);
      const std::vector<double> costs = random_costs(random, entries, shape.forbidden_percent);
      if (random.chance(50)) {
        made.network.add(u, v, costs);
      } else {
        made.network.add(v, u, costs);
      }
      made.arcs.push_back({u, v});
    }
  }
  return made;
}

inline plan::Assignment random_assignment(Random& random, const plan::Network& network) {
  plan::Assignment x;
  for (int v = 0; v < network.variables(); ++v) x.push_back(random.small(0, network.values(v) - 1));
  return x;
}

/// Calls visit(assignment) for all of them.
template <class Visit>
void for_each_assignment(const plan::Network& network, Visit&& visit) {
  plan::Assignment x(plan::idx(network.variables()), 0);
  for (int v = 0; v < network.variables();) {
    visit(x);
    for (v = 0; v < network.variables() && ++x[plan::idx(v)] == network.values(v); ++v) x[plan::idx(v)] = 0;
  }
}

struct BruteForce {
  double least = plan::kForbidden;
  std::vector<std::vector<double>> imposed;  ///< per variable and value: the minimum cost with it

  explicit BruteForce(const plan::Network& network) {
    for (int v = 0; v < network.variables(); ++v) imposed.emplace_back(plan::idx(network.values(v)), plan::kForbidden);
    for_each_assignment(network, [&](const plan::Assignment& x) {
      const double cost = network.cost(x);
      least = std::min(least, cost);
      for (std::size_t v = 0; v < x.size(); ++v) {
        double& with = imposed[v][plan::idx(x[v])];
        with = std::min(with, cost);
      }
    });
  }
};

/// Costs relative to the minimum, for printing.
class Distances {
 public:
  void add(double cost, double least) {
    ++cases_;
    if (cost == least) ++optimal_;
    if (cost == plan::kForbidden) ++forbidden_;
    if (least > 0 && cost != plan::kForbidden) worst_ = std::max(worst_, cost / least);
  }
  [[nodiscard]] int cases() const { return cases_; }
  [[nodiscard]] int optimal() const { return optimal_; }
  [[nodiscard]] std::string text() const {
    return std::to_string(optimal_) + " of " + std::to_string(cases_) + " optimal, " + std::to_string(forbidden_) +
           " forbidden, worst " + std::to_string(worst_);
  }

 private:
  int cases_ = 0;
  int optimal_ = 0;
  int forbidden_ = 0;
  double worst_ = 1;
};

/// A large network like those of programs: most producers are close. Independent of compiler and library.
inline RandomNetwork large_network(int variables, int edges, int most_values, int reach) {
  std::uint64_t state = 12345;
  const auto below = [&state](int n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(n));
  };
  RandomNetwork made;
  const auto costs = [&below](std::size_t entries) {
    std::vector<double> result(entries);
    for (double& cost : result) cost = below(1000);
    return result;
  };
  for (int v = 0; v < variables; ++v) {
    const int values = 1 + below(most_values);
    made.network.add_variable(values);
    made.network.add(v, costs(plan::idx(values)));
  }
  for (int k = 0; k < edges;) {
    const int v = below(variables);
    const int u = v - 1 - below(reach);
    if (u < 0) continue;
    ++k;
    made.arcs.push_back({u, v});
    if (made.network.edge_between(u, v) < 0)
      made.network.add(u, v, costs(made.network.own(u).size() * made.network.own(v).size()));
  }
  return made;
}

}  // namespace tdsl::tests
