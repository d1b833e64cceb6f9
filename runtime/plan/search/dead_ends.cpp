#include "runtime/plan/search/dead_ends.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace tdsl::plan {

namespace {

/// Differences of sums below this relative size are rounding errors.
constexpr double kRounding = 1e-12;

/// The tables at one variable, restricted to the remaining values: the data for comparing its values.
class Neighbourhood {
 public:
  Neighbourhood(const Network& network, const std::vector<std::vector<int>>& kept, int variable)
      : values_(kept[idx(variable)].size()) {
    for (const int value : kept[idx(variable)]) own_.push_back(network.own(variable)[idx(value)]);
    for (const int edge : network.edges_of(variable)) {
      const Network::View view = network.view(edge, variable);
      tables_.push_back(table_of(view, kept[idx(variable)], kept[idx(view.other)]));
      entries_ += static_cast<Index>(tables_.back().cost.size());
    }
    for (std::size_t s = 0; s < values_; ++s) {
      double least = own_[s];
      for (const Table& table : tables_) least += table.low[s];
      least_.push_back(least);
    }
  }

  [[nodiscard]] std::size_t values() const { return values_; }
  [[nodiscard]] Index entries() const { return entries_; }
  /// True if the neighbours' choices never allow the value.
  [[nodiscard]] bool impossible(std::size_t s) const { return least_[s] == kForbidden; }

  /// True if the possible value s never costs less than q, whatever the neighbours choose; if costs may be equal, q
  /// must come first.
  [[nodiscard]] bool beaten(std::size_t s, std::size_t q, Index& work) const {
    const double enough = q < s ? 0 : kRounding * least_[s];
    const auto loses = [&](double difference) { return q < s ? difference >= enough : difference > enough; };
    if (own_[q] == kForbidden) return false;
    double bound = own_[s] - own_[q];
    for (const Table& table : tables_) bound += table.bound(s, q);
    work += static_cast<Index>(2 * tables_.size());
    if (!loses(bound)) return false;
    // The bound is refined, table by table, to the exact least difference; -infinity if q is forbidden and s is not.
    double exact = own_[s] - own_[q];
    for (const Table& table : tables_) {
      const double least = table.least_difference(s, q);
      work += static_cast<Index>(table.columns);
      bound += least - table.bound(s, q);
      exact += least;
      if (bound < -kRounding * least_[s]) return false;
    }
    return loses(exact);
  }

 private:
  struct Table {
    std::size_t columns = 0;
    std::vector<double> cost;        ///< values of the variable x values of the neighbour
    std::vector<double> low;         ///< per row, its least entry
    std::vector<std::size_t> where;  ///< and the column of that entry
    std::vector<std::size_t> worst;  ///< the column of the greatest entry

    /// Upper bound of least_difference(s, q), from the two columns most likely to hold the minimum.
    [[nodiscard]] double bound(std::size_t s, std::size_t q) const {
      const double at_low = low[s] - cost[q * columns + where[s]];
      const double at_worst = cost[s * columns + worst[q]] - cost[q * columns + worst[q]];
      return at_worst < at_low ? at_worst
                               : at_low;  // if both are forbidden the difference is NaN, which compares as not less
    }
    /// Minimum over the columns that allow s.
    [[nodiscard]] double least_difference(std::size_t s, std::size_t q) const {
      const double* a = cost.data() + s * columns;
      const double* b = cost.data() + q * columns;
      double least = kForbidden;
      for (std::size_t u = 0; u < columns; ++u) {
        const double difference = a[u] - b[u];
        least = difference < least ? difference : least;  // NaN compares as not less
      }
      return least;
    }
  };

  [[nodiscard]] static Table table_of(const Network::View& view, const std::vector<int>& mine,
                                      const std::vector<int>& others) {
    Table table;
    table.columns = others.size();
    table.cost.reserve(mine.size() * others.size());
    for (const int s : mine) {
      for (const int u : others) table.cost.push_back(view.at(s, u));
      const auto end = table.cost.end();
      const auto row = end - static_cast<Index>(others.size());
      const auto low = std::min_element(row, end);
      table.low.push_back(*low);
      table.where.push_back(static_cast<std::size_t>(low - row));
      table.worst.push_back(static_cast<std::size_t>(std::max_element(row, end) - row));
    }
    return table;
  }

  std::size_t values_;
  std::vector<double> own_;
  std::vector<Table> tables_;
  std::vector<double> least_;  ///< per value: its cost if every neighbour makes its cheapest choice
  Index entries_ = 0;
};

class DeadEndSearch {
 public:
  DeadEndSearch(const Network& network, Index work_limit) : network_(network), limit_(work_limit) {
    for (int v = 0; v < network.variables(); ++v) {
      std::vector<int> all(idx(network.values(v)));
      for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<int>(k);
      kept_.push_back(all);
      better_.push_back(std::move(all));
      waiting_.push_back(v);
    }
    waits_.assign(waiting_.size(), true);
  }

  DeadEnds run() {
    while (!waiting_.empty() && work_ < limit_) {
      const int v = waiting_.front();
      waiting_.pop_front();
      waits_[idx(v)] = false;
      if (!examine(v)) continue;
      for (const int edge : network_.edges_of(v)) enqueue(network_.view(edge, v).other);
    }
    DeadEnds result{network_.restricted(kept_), kept_, {}, work_, waiting_.empty()};
    for (int v = 0; v < network_.variables(); ++v) result.heir.push_back(heirs(v));
    return result;
  }

 private:
  void enqueue(int v) {
    if (waits_[idx(v)] || kept_[idx(v)].size() == 1) return;
    waits_[idx(v)] = true;
    waiting_.push_back(v);
  }

  /// True if the variable lost a value.
  bool examine(int v) {
    std::vector<int>& kept = kept_[idx(v)];
    if (kept.size() == 1) return false;
    const Neighbourhood around(network_, kept_, v);
    work_ += around.entries();
    std::vector<int> left;
    std::vector<bool> dead(kept.size(), false);
    for (std::size_t s = kept.size(); s-- > 0;) {
      const std::size_t q = dead_end(around, s, dead);
      if (q == s) continue;
      dead[s] = true;
      better_[idx(v)][idx(kept[s])] = kept[q];
    }
    for (std::size_t s = 0; s < kept.size(); ++s) {
      if (!dead[s]) left.push_back(kept[s]);
    }
    const bool lost = left.size() < kept.size();
    kept = std::move(left);
    return lost;
  }

  /// A remaining value that beats s, or s itself.
  std::size_t dead_end(const Neighbourhood& around, std::size_t s, const std::vector<bool>& dead) {
    for (std::size_t q = 0; q < around.values() && work_ < limit_; ++q) {
      if (q == s || dead[q]) continue;
      // If all values are impossible, the first one stays.
      if (around.impossible(s) ? q < s || !around.impossible(q) : around.beaten(s, q, work_)) return q;
    }
    return s;
  }

  /// Per original value: its number in the reduced network, or that of the value at the end of the chain of values that
  /// beat it.
  [[nodiscard]] std::vector<int> heirs(int v) const {
    const std::vector<int>& kept = kept_[idx(v)];
    std::vector<int> heir;
    for (int value = 0; value < network_.values(v); ++value) {
      int stands = value;
      while (better_[idx(v)][idx(stands)] != stands) stands = better_[idx(v)][idx(stands)];
      heir.push_back(static_cast<int>(std::lower_bound(kept.begin(), kept.end(), stands) - kept.begin()));
    }
    return heir;
  }

  const Network& network_;
  Index limit_;
  Index work_ = 0;
  std::vector<std::vector<int>> kept_;
  std::vector<std::vector<int>> better_;  ///< per value: the one that beat it, or itself
  std::deque<int> waiting_;               ///< variables to examine
  std::vector<bool> waits_;
};

}  // namespace

Assignment DeadEnds::original(const Assignment& reduced) const {
  Assignment x(reduced.size());
  for (std::size_t v = 0; v < x.size(); ++v) x[v] = kept[v][idx(reduced[v])];
  return x;
}

Assignment DeadEnds::reduced(const Assignment& original) const {
  Assignment x(original.size());
  for (std::size_t v = 0; v < x.size(); ++v) x[v] = heir[v][idx(original[v])];
  return x;
}

DeadEnds without_dead_ends(const Network& network, Index work_limit) {
  return DeadEndSearch(network, work_limit).run();
}

}  // namespace tdsl::plan
