#include "runtime/plan/search/forests.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tdsl::plan {

namespace {

/// SplitMix64 (Steele, Lea, Flood 2014), because the distributions of <random> differ between libraries.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  /// A number below `n`.
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32); }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

/// Random maximal induced forests of a network.
class ForestChooser {
 public:
  ForestChooser(const Network& network, std::uint64_t seed) : network_(network), random_(seed) {
    shuffled_.resize(idx(network.variables()));
    std::iota(shuffled_.begin(), shuffled_.end(), 0);
    tree_.resize(shuffled_.size());
    parent_edge_.resize(shuffled_.size());
    chosen_.resize(shuffled_.size());
    touched_by_.resize(shuffled_.size());
  }

  /// Chooses a new forest.
  void next() {
    for (std::size_t k = shuffled_.size(); k > 1; --k) {
      std::swap(shuffled_[k - 1], shuffled_[random_.below(static_cast<std::uint32_t>(k))]);
    }
    std::fill(chosen_.begin(), chosen_.end(), kOut);
    std::fill(touched_by_.begin(), touched_by_.end(), -1);
    for (const int v : shuffled_) {
      if (!closes_cycle(v)) plant(v);
    }
    order_.clear();
    for (const int v : shuffled_) {
      if (chosen_[idx(v)] == kChosen) walk_from(v);
    }
  }

  [[nodiscard]] bool has(int v) const { return chosen_[idx(v)] != kOut; }
  /// Its variables, parents before children.
  [[nodiscard]] const std::vector<int>& order() const { return order_; }
  /// The edge to the parent, or -1.
  [[nodiscard]] int parent_edge(int v) const { return parent_edge_[idx(v)]; }

 private:
  enum Place : char { kOut, kChosen, kOrdered };

  int root(int v) {
    while (tree_[idx(v)] != v) v = tree_[idx(v)] = tree_[idx(tree_[idx(v)])];
    return v;
  }

  /// True if two of the chosen neighbours are in one tree.
  bool closes_cycle(int v) {
    for (const int e : network_.edges_of(v)) {
      const int u = network_.view(e, v).other;
      if (chosen_[idx(u)] == kOut) continue;
      int& touched_by = touched_by_[idx(root(u))];
      if (touched_by == v) return true;
      touched_by = v;
    }
    return false;
  }

  void plant(int v) {
    chosen_[idx(v)] = kChosen;
    tree_[idx(v)] = v;
    for (const int e : network_.edges_of(v)) {
      const int u = network_.view(e, v).other;
      if (chosen_[idx(u)] != kOut) tree_[idx(root(u))] = v;
    }
  }

  /// Appends a whole tree to the order, breadth first.
  void walk_from(int v) {
    std::size_t next = order_.size();
    parent_edge_[idx(v)] = -1;
    chosen_[idx(v)] = kOrdered;
    order_.push_back(v);
    for (; next < order_.size(); ++next) {
      for (const int e : network_.edges_of(order_[next])) {
        const int u = network_.view(e, order_[next]).other;
        if (chosen_[idx(u)] != kChosen) continue;
        parent_edge_[idx(u)] = e;
        chosen_[idx(u)] = kOrdered;
        order_.push_back(u);
      }
    }
  }

  const Network& network_;
  SplitMix random_;
  std::vector<int> shuffled_;
  std::vector<int> tree_;        ///< union-find
  std::vector<int> touched_by_;  ///< per root: the last variable with a neighbour in its tree
  std::vector<Place> chosen_;
  std::vector<int> order_;
  std::vector<int> parent_edge_;
};

/// Sets the variables of a forest to their best values with all others fixed.
class ForestProgram {
 public:
  explicit ForestProgram(const Network& network) : network_(network), sums_(idx(network.variables())) {}

  /// Returns the table entries read.
  Index improve(const ForestChooser& forest, Assignment& x) {
    work_ = 0;
    for (const int v : forest.order()) start(forest, x, v);
    for (auto v = forest.order().rbegin(); v != forest.order().rend(); ++v) {
      if (forest.parent_edge(*v) >= 0) pass_up(network_.view(forest.parent_edge(*v), *v), sums_[idx(*v)]);
    }
    for (const int v : forest.order()) {
      std::vector<double>& sum = sums_[idx(v)];
      if (forest.parent_edge(v) >= 0) {
        const Network::View up = network_.view(forest.parent_edge(v), v);
        add_row(up, x[idx(up.other)], sum);
      }
      x[idx(v)] = static_cast<int>(std::min_element(sum.begin(), sum.end()) - sum.begin());
    }
    return work_;
  }

 private:
  /// A variable's own costs and those with neighbours outside the forest.
  void start(const ForestChooser& forest, const Assignment& x, int v) {
    std::vector<double>& sum = sums_[idx(v)];
    sum = network_.own(v);
    for (const int e : network_.edges_of(v)) {
      const Network::View view = network_.view(e, v);
      if (!forest.has(view.other)) add_row(view, x[idx(view.other)], sum);
    }
  }

  void add_row(const Network::View& view, int its, std::vector<double>& sum) {
    const double* cost = view.cost + its * view.other_step;
    for (std::size_t s = 0; s < sum.size(); ++s) sum[s] += cost[static_cast<Index>(s) * view.step];
    work_ += static_cast<Index>(sum.size());
  }

  /// Adds to the parent's sums, per value of the parent, the least cost of the subtree.
  void pass_up(const Network::View& up, const std::vector<double>& sum) {
    const std::size_t parents = idx(up.others);
    least_.assign(parents, kForbidden);
    if (up.step == 1) {
      for (std::size_t p = 0; p < parents; ++p) {
        const double* cost = up.cost + static_cast<Index>(p) * up.other_step;
        for (std::size_t s = 0; s < sum.size(); ++s) least_[p] = std::min(least_[p], cost[s] + sum[s]);
      }
    } else {
      for (std::size_t s = 0; s < sum.size(); ++s) {
        const double* cost = up.cost + static_cast<Index>(s) * up.step;
        for (std::size_t p = 0; p < parents; ++p) least_[p] = std::min(least_[p], cost[p] + sum[s]);
      }
    }
    std::vector<double>& parent = sums_[idx(up.other)];
    for (std::size_t p = 0; p < parents; ++p) parent[p] += least_[p];
    work_ += static_cast<Index>(sum.size() * parents);
  }

  const Network& network_;
  std::vector<std::vector<double>> sums_;  ///< per variable of the forest and value: the cost of its subtree
  std::vector<double> least_;
  Index work_ = 0;
};

/// Forbidden entries cost more than all others together, so fewer of them are always cheaper.
Network with_penalties(const Network& network) {
  const auto greatest = [](const std::vector<double>& cost) {
    double most = 0;
    for (const double c : cost) most = std::isinf(c) ? most : std::max(most, c);
    return most;
  };
  double penalty = 1;
  for (int v = 0; v < network.variables(); ++v) penalty += greatest(network.own(v));
  for (const Network::Edge& edge : network.edges()) penalty += greatest(edge.cost);
  const auto penalised = [penalty](std::vector<double> cost) {
    std::replace(cost.begin(), cost.end(), kForbidden, penalty);
    return cost;
  };
  Network result;
  for (int v = 0; v < network.variables(); ++v) {
    result.add_variable(network.values(v));
    result.set_own(v, penalised(network.own(v)));
  }
  for (const Network::Edge& edge : network.edges()) result.add(edge.first, edge.second, penalised(edge.cost));
  return result;
}

/// Runs rounds until the limits are reached, or until the assignment is allowed in `real` if that is the only goal.
void improve(const Network& network, const Network* real, const ForestLimits& limits, Answer& answer) {
  ForestChooser forest(network, limits.seed);
  ForestProgram program(network);
  double best = network.cost(answer.values);
  Assignment x = answer.values;
  for (int round = 0, stale = 0; round < limits.rounds && stale < limits.stale && answer.work < limits.work;
       ++round, ++stale) {
    forest.next();
    answer.work += program.improve(forest, x);
    const double cost = network.cost(x);
    if (cost < best) {
      stale = -1;
      best = cost;
      answer.values = x;
    }
    if (real != nullptr && real->cost(x) != kForbidden) break;
  }
}

}  // namespace

Answer descend(const Network& network, const Assignment& start, const ForestLimits& limits) {
  Answer answer{start, network.cost(start), 0};
  if (answer.cost == kForbidden) {
    const Network penalised = with_penalties(network);
    answer.work += 2 * network.entries();
    improve(penalised, &network, limits, answer);
    answer.cost = network.cost(answer.values);
  }
  if (answer.cost != kForbidden) improve(network, nullptr, limits, answer);
  answer.cost = network.cost(answer.values);
  return answer;
}

}  // namespace tdsl::plan
