#include "runtime/plan/search/limits.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/check.h"
#include "runtime/plan/search/fitting_moves.h"

namespace tdsl::plan {

namespace {

constexpr double kFirstMultiplier = 0.02;  ///< fraction of the cost per share
constexpr double kGrow = 2;
constexpr double kGrowAtLast = 16;  ///< growth in the last third of the solves if nothing has fitted yet
constexpr double kShrink = 0.7;
constexpr double kRoundedBound = 1e-12;  ///< relative rounding error of the bound

/// The geometric mean of the positive costs: a scale for networks whose cheapest assignment is free.
double typical_cost(const Network& network) {
  double sum = 0;
  double count = 0;
  const auto add = [&](const std::vector<double>& costs) {
    for (const double c : costs) {
      if (!(c > 0) || std::isinf(c)) continue;
      sum += std::log(c);
      ++count;
    }
  };
  for (int v = 0; v < network.variables(); ++v) add(network.own(v));
  for (const Network::Edge& edge : network.edges()) add(edge.cost);
  return count > 0 ? std::exp(sum / count) : 1;
}

class MultiplierSearch {
 public:
  MultiplierSearch(const Network& network, const MemoryLimits& limits, const std::vector<Arc>& arcs,
                   const SearchLimits& search)
      : network_(network),
        limits_(limits),
        arcs_(arcs),
        search_(search),
        priced_(network),
        multipliers_(limits.points.size(), 0.0) {
    TDSL_CHECK(limits.share > 0, "a share of memory is empty");
  }

  FittingSolution run(const Assignment& start) {
    if (!start.empty()) remember(start);
    starts_ = {start, start};
    do {
      solve_once();
    } while (best_.solves < limits_.solves && best_.solution.work < search_.work && !best_.solution.exact &&
             !nothing_binds_);
    return best_;
  }

 private:
  void solve_once() {
    // For most programs the first solve is also the last, so it gets half of the work; the others share the rest.
    const Index left = search_.work - best_.solution.work;
    const Index work = best_.solves == 0 ? left / 2 : left / std::max(1, limits_.solves - best_.solves);
    SearchLimits search = search_;
    search.work = 2 * work / 3;
    price();
    const Solution solution = solve(priced_, cheapest_start(), arcs_, search);
    starts_.back() = solution.values;
    ++best_.solves;
    best_.solution.work += solution.work;
    best_.solution.largest_table = std::max(best_.solution.largest_table, solution.largest_table);
    if (solution.exact) bound_ = std::max(bound_, solution.cost - credit());
    remember(solution.values);
    if (!shown_cheapest()) {
      Assignment moved = solution.values;
      best_.solution.work += improve_within(network_, limits_, moved, work / 3);
      remember(moved);
    }
    best_.solution.exact = shown_cheapest();
    adjust(solution.values);
  }

  /// Adds the byte costs to the own costs.
  void price() {
    std::vector<std::vector<double>> own;
    for (int v = 0; v < network_.variables(); ++v) own.push_back(network_.own(v));
    for (std::size_t p = 0; p < multipliers_.size(); ++p) {
      if (multipliers_[p] == 0) continue;
      for (const MemoryLimits::Term& term : limits_.points[p].terms) {
        std::vector<double>& costs = own[idx(term.variable)];
        for (std::size_t s = 0; s < costs.size(); ++s) costs[s] += multipliers_[p] * term.bytes[s];
      }
    }
    for (int v = 0; v < network_.variables(); ++v) priced_.set_own(v, std::move(own[idx(v)]));
  }

  /// The total that multipliers charge for the full limits. The priced minimum minus this is a lower bound on the cost
  /// of any feasible assignment.
  [[nodiscard]] double credit() const {
    double sum = 0;
    for (std::size_t p = 0; p < multipliers_.size(); ++p)
      sum += multipliers_[p] * (limits_.cap - limits_.points[p].constant);
    return sum;
  }

  [[nodiscard]] bool shown_cheapest() const {
    if (best_.solution.cost == kForbidden) return bound_ == kForbidden;
    return best_.fits && best_.solution.cost <= bound_ + kRoundedBound * std::abs(bound_);
  }

  /// The cheapest of the given start, the last solution and the best one so far.
  [[nodiscard]] Assignment cheapest_start() const {
    Assignment cheapest = best_.solution.values;
    for (const Assignment& start : starts_) {
      if (!start.empty() && priced_.cost(start) < priced_.cost(cheapest)) cheapest = start;
    }
    return cheapest;
  }

  void remember(const Assignment& values) {
    FittingSolution found = best_;
    found.solution.values = values;
    found.solution.cost = network_.cost(values);
    found.excess = 0;
    found.worst = -1;
    for (const MemoryLimits::Point& point : limits_.points) {
      const double excess = bytes_at(point, values) - limits_.cap;
      if (excess <= found.excess) continue;
      found.excess = excess;
      found.worst = point.name;
    }
    found.fits = found.excess == 0 && found.solution.cost != kForbidden;
    if (best_.solution.values.empty() || better(found, best_)) best_ = std::move(found);
  }

  /// Allowed before forbidden, then less excess, then less cost.
  [[nodiscard]] static bool better(const FittingSolution& a, const FittingSolution& b) {
    const bool allowed = a.solution.cost != kForbidden;
    if (allowed != (b.solution.cost != kForbidden)) return allowed;
    return a.excess != b.excess ? a.excess < b.excess : a.solution.cost < b.solution.cost;
  }

  void adjust(const Assignment& values) {
    std::vector<bool> exceeds;
    for (const MemoryLimits::Point& point : limits_.points) exceeds.push_back(bytes_at(point, values) > limits_.cap);
    const bool all_fit = std::find(exceeds.begin(), exceeds.end(), true) == exceeds.end();
    const double cost = network_.cost(values);
    const double scale = cost > 0 && cost != kForbidden ? cost : typical_cost(network_);
    const double grow = best_.fits || 3 * best_.solves < 2 * limits_.solves ? kGrow : kGrowAtLast;
    nothing_binds_ = all_fit && std::ranges::all_of(multipliers_, [](double m) { return m == 0; });
    for (std::size_t p = 0; p < multipliers_.size(); ++p) {
      double& multiplier = multipliers_[p];
      if (all_fit) {
        multiplier *= kShrink;
      } else if (exceeds[p]) {
        multiplier = multiplier > 0 ? grow * multiplier : kFirstMultiplier * scale / limits_.share;
      }
    }
  }

  const Network& network_;
  const MemoryLimits& limits_;
  const std::vector<Arc>& arcs_;
  const SearchLimits& search_;
  Network priced_;
  std::vector<double> multipliers_;  ///< cost of a byte, per point
  std::vector<Assignment> starts_;   ///< the given start and the last solution; empty: none
  bool nothing_binds_ = false;       ///< the solution without multipliers fits
  double bound_ = -kForbidden;       ///< lower bound on feasible costs
  FittingSolution best_;             ///< work, solves and largest table are totals of the search so far
};

}  // namespace

double bytes_at(const MemoryLimits::Point& point, const Assignment& x) {
  double bytes = point.constant;
  for (const MemoryLimits::Term& term : point.terms) bytes += term.bytes[idx(x[idx(term.variable)])];
  return bytes;
}

FittingSolution solve_within(const Network& network, const MemoryLimits& limits, const Assignment& start,
                             const std::vector<Arc>& arcs, const SearchLimits& search) {
  return MultiplierSearch(network, limits, arcs, search).run(start);
}

}  // namespace tdsl::plan
