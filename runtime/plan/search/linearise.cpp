#include "runtime/plan/search/linearise.h"

#include <algorithm>
#include <utility>

namespace tdsl::plan {

namespace {

/// Consumers and producers per variable, and an order with producers before consumers.
class ArcOrder {
 public:
  ArcOrder(int variables, const std::vector<Arc>& arcs) : consumers_(idx(variables)) {
    for (const Arc& arc : arcs) consumers_[idx(arc.from)].push_back(arc.to);
    for (std::vector<int>& to : consumers_) {
      std::sort(to.begin(), to.end());
      to.erase(std::unique(to.begin(), to.end()), to.end());
    }
    std::vector<bool> seen(idx(variables), false);
    for (int v = 0; v < variables; ++v) {
      if (!seen[idx(v)]) walk_from(v, seen);
    }
    std::reverse(order_.begin(), order_.end());
    std::vector<int> place(idx(variables));
    for (std::size_t k = 0; k < order_.size(); ++k) place[idx(order_[k])] = static_cast<int>(k);
    for (int v = 0; v < variables; ++v) {
      std::erase_if(consumers_[idx(v)], [&](int to) { return place[idx(to)] <= place[idx(v)]; });
    }
  }

  [[nodiscard]] const std::vector<int>& order() const { return order_; }
  /// Ascending.
  [[nodiscard]] const std::vector<int>& consumers(int v) const { return consumers_[idx(v)]; }
  [[nodiscard]] bool leads(int from, int to) const {
    return std::binary_search(consumers(from).begin(), consumers(from).end(), to);
  }

 private:
  /// Depth first; a variable is appended after everything reachable from it.
  void walk_from(int start, std::vector<bool>& seen) {
    std::vector<std::pair<int, std::size_t>> stack{{start, 0}};
    seen[idx(start)] = true;
    while (!stack.empty()) {
      auto& [v, next] = stack.back();
      if (next == consumers_[idx(v)].size()) {
        order_.push_back(v);
        stack.pop_back();
        continue;
      }
      const int to = consumers_[idx(v)][next++];
      if (seen[idx(to)]) continue;
      seen[idx(to)] = true;
      stack.emplace_back(to, 0);
    }
  }

  std::vector<std::vector<int>> consumers_;
  std::vector<int> order_;
};

class Linearisation {
 public:
  Linearisation(const Network& network, const std::vector<Arc>& arcs)
      : network_(network), arcs_(network.variables(), arcs), decided_(idx(network.variables()), false) {
    answer_.values.assign(decided_.size(), 0);
  }

  Answer run() {
    for (std::vector<int> path = longest_path(); !path.empty(); path = longest_path()) decide(path);
    answer_.cost = network_.cost(answer_.values);
    return answer_;
  }

 private:
  /// The longest path through undecided variables.
  [[nodiscard]] std::vector<int> longest_path() const {
    std::vector<int> length(decided_.size(), 0);
    std::vector<int> next(decided_.size(), -1);
    int first = -1;
    for (auto v = arcs_.order().rbegin(); v != arcs_.order().rend(); ++v) {
      if (decided_[idx(*v)]) continue;
      int& longest = length[idx(*v)];
      for (const int to : arcs_.consumers(*v)) {
        if (length[idx(to)] <= longest) continue;
        longest = length[idx(to)];
        next[idx(*v)] = to;
      }
      ++longest;
    }
    for (std::size_t v = 0; v < length.size(); ++v) {
      if (length[v] > 0 && (first < 0 || length[v] > length[idx(first)])) first = static_cast<int>(v);
    }
    std::vector<int> path;
    for (int v = first; v >= 0; v = next[idx(v)]) path.push_back(v);
    return path;
  }

  /// Dynamic programming from the path's last consumer back to its first producer.
  void decide(const std::vector<int>& path) {
    std::vector<std::vector<double>> rest;  // per variable of the path and value: the least cost from there to the end
    for (std::size_t k = 0; k < path.size(); ++k) rest.push_back(costs_beside_path(path[k], k > 0 ? path[k - 1] : -1));
    for (std::size_t k = path.size() - 1; k-- > 0;) {
      const int edge = network_.edge_between(path[k], path[k + 1]);
      for (std::size_t s = 0; s < rest[k].size(); ++s)
        rest[k][s] += least_after(edge, path[k], static_cast<int>(s), rest[k + 1]);
    }
    for (std::size_t k = 0; k < path.size(); ++k) {
      if (k > 0) add_edge(network_.edge_between(path[k - 1], path[k]), path[k], rest[k]);
      const int value = static_cast<int>(std::min_element(rest[k].begin(), rest[k].end()) - rest[k].begin());
      answer_.values[idx(path[k])] = value;
    }
    for (const int v : path) decided_[idx(v)] = true;
  }

  /// A variable's own costs, those with variables of earlier paths, and the least costs with producers other than
  /// `before`.
  [[nodiscard]] std::vector<double> costs_beside_path(int v, int before) {
    std::vector<double> costs = network_.own(v);
    for (const int e : network_.edges_of(v)) {
      const Network::View view = network_.view(e, v);
      if (decided_[idx(view.other)]) {
        add_edge(e, v, costs);
      } else if (view.other != before && arcs_.leads(view.other, v)) {
        const std::vector<double> anything(idx(view.others), 0.0);
        for (std::size_t s = 0; s < costs.size(); ++s) costs[s] += least_after(e, v, static_cast<int>(s), anything);
      }
    }
    return costs;
  }

  /// Adds the costs of an edge to a variable that is already decided; -1: no edge.
  void add_edge(int edge, int v, std::vector<double>& costs) {
    if (edge < 0) return;
    const Network::View view = network_.view(edge, v);
    const int its = answer_.values[idx(view.other)];
    for (std::size_t s = 0; s < costs.size(); ++s) costs[s] += view.at(static_cast<int>(s), its);
    answer_.work += static_cast<Index>(costs.size());
  }

  /// The least cost of the edge with a value of v, plus `rest` per value of the other variable.
  [[nodiscard]] double least_after(int edge, int v, int value, const std::vector<double>& rest) {
    double least = kForbidden;
    answer_.work += static_cast<Index>(rest.size());
    if (edge < 0) return *std::min_element(rest.begin(), rest.end());
    const Network::View view = network_.view(edge, v);
    for (std::size_t u = 0; u < rest.size(); ++u)
      least = std::min(least, view.at(value, static_cast<int>(u)) + rest[u]);
    return least;
  }

  const Network& network_;
  ArcOrder arcs_;
  std::vector<bool> decided_;
  Answer answer_;
};

}  // namespace

Answer linearise(const Network& network, const std::vector<Arc>& arcs) { return Linearisation(network, arcs).run(); }

}  // namespace tdsl::plan
