#include "runtime/plan/search/solve.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/plan/search/dead_ends.h"
#include "runtime/plan/search/forests.h"

namespace tdsl::plan {

namespace {

/// Per value: its own cost plus the least entry of every table with it.
std::vector<double> local_costs(const Network& network, int v) {
  std::vector<double> costs = network.own(v);
  for (const int e : network.edges_of(v)) {
    const Network::View view = network.view(e, v);
    for (int s = 0; s < network.values(v); ++s) {
      double least = kForbidden;
      for (int u = 0; u < view.others; ++u) least = std::min(least, view.at(s, u));
      costs[idx(s)] += least;
    }
  }
  return costs;
}

/// The `count` locally cheapest values of every variable, cheapest first.
std::vector<std::vector<int>> cheapest_values(const Network& network, int count) {
  std::vector<std::vector<int>> cheapest;
  for (int v = 0; v < network.variables(); ++v) {
    const std::vector<double> costs = local_costs(network, v);
    std::vector<int> values(costs.size());
    std::iota(values.begin(), values.end(), 0);
    std::stable_sort(values.begin(), values.end(), [&](int a, int b) { return costs[idx(a)] < costs[idx(b)]; });
    values.resize(std::min(values.size(), static_cast<std::size_t>(std::max(1, count))));
    cheapest.push_back(std::move(values));
  }
  return cheapest;
}

class Search {
 public:
  Search(const Network& network, const SearchLimits& limits) : network_(network), limits_(limits) {}

  Solution run(const Assignment& start, const std::vector<Arc>& arcs) {
    best_.values.assign(idx(network_.variables()), 0);
    best_.cost = network_.cost(best_.values);
    if (!start.empty()) best_ = {start, network_.cost(start)};
    if (eliminated()) return best_;
    best_.exact = false;
    if (affordable(network_.entries())) {
      if (!start.empty()) descend_from(start);
      const Answer line = linearise(network_, arcs);
      best_.work += line.work;
      descend_from(line.values);
      descend_from_cheapest();
    }
    return best_;
  }

 private:
  [[nodiscard]] Index left() const { return limits_.work - best_.work; }
  [[nodiscard]] bool affordable(Index work) const { return work <= left(); }

  /// Accepts the values if they are cheaper.
  void offer(const Assignment& values) {
    const double cost = network_.cost(values);
    if (cost >= best_.cost) return;
    best_.values = values;
    best_.cost = cost;
  }

  /// Variable elimination, if the tables are small enough.
  bool eliminated() {
    const EliminationOrder order = elimination_order(network_, std::min(limits_.table, left()));
    best_.largest_table = order.largest;
    if (!order.fits || order.messages > limits_.messages || !affordable(order.entries)) return false;
    const Answer answer = eliminate(network_, order);
    best_.work += answer.work;
    offer(answer.values);
    best_.exact = true;
    return true;
  }

  void descend_from(const Assignment& start) {
    const Answer answer = descend(network_, start, {limits_.rounds, limits_.stale, limits_.seed, left()});
    best_.work += answer.work;
    offer(answer.values);
  }

  void descend_from_cheapest() {
    if (!affordable(2 * network_.entries())) return;
    best_.work += network_.entries();
    std::vector<std::vector<int>> kept = cheapest_values(network_, limits_.cheapest);
    Assignment known;
    for (std::size_t v = 0; v < kept.size(); ++v) {
      const auto found = std::find(kept[v].begin(), kept[v].end(), best_.values[v]);
      known.push_back(static_cast<int>(found - kept[v].begin()));
      if (found == kept[v].end()) kept[v].push_back(best_.values[v]);
    }
    const Network few = network_.restricted(kept);
    Search search(few, limits_);
    search.limits_.work = left();
    search.best_ = {known, few.cost(known)};
    if (!search.eliminated()) search.descend_from(Assignment(kept.size(), 0));
    best_.work += search.best_.work;
    Assignment values;
    for (std::size_t v = 0; v < kept.size(); ++v) values.push_back(kept[v][idx(search.best_.values[v])]);
    offer(values);
    descend_from(values);
  }

  const Network& network_;
  SearchLimits limits_;
  Solution best_;
};

}  // namespace

Solution solve(const Network& network, const Assignment& start, const std::vector<Arc>& arcs,
               const SearchLimits& limits) {
  // Dropping values is cheap compared with keeping them: at most a quarter of the work.
  const DeadEnds smaller = without_dead_ends(network, limits.work / 4);
  SearchLimits rest = limits;
  rest.work -= smaller.work;
  Solution solution = Search(smaller.network, rest).run(start.empty() ? start : smaller.reduced(start), arcs);
  solution.values = smaller.original(solution.values);
  solution.cost = network.cost(solution.values);
  solution.work += smaller.work;
  return solution;
}

}  // namespace tdsl::plan
