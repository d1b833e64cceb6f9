#include "passes/fusion/enumerate.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "ir/graph/check.h"

namespace tdsl::passes::fusion_plans {

namespace {

bool has(Assignment assignment, std::size_t point) { return (assignment >> point & 1) != 0; }
Assignment bit(std::size_t point) { return Assignment{1} << point; }

/// The index of the point from this consumer to this target.
std::optional<std::size_t> point_of(const Partition& p, int target, int consumer) {
  for (std::size_t k = 0; k < p.points.size(); ++k) {
    if (p.points[k].target == target && p.points[k].consumer == consumer) return k;
  }
  return std::nullopt;
}

/// The operators and reads of one fused operator.
class FusedOperator {
 public:
  FusedOperator(const Partition& partition, Assignment assignment) : partition_(partition), assignment_(assignment) {}

  double cost(int root) {
    visit(root);
    return partition_.operators[static_cast<std::size_t>(root)].write + std::max(reads_, compute_);
  }

 private:
  void visit(int number) {
    if (!held_.insert(number).second) return;
    const Operator& op = partition_.operators[static_cast<std::size_t>(number)];
    compute_ += op.compute;
    for (const int s : op.sources) {
      if (sources_.insert(s).second) reads_ += partition_.source_reads[static_cast<std::size_t>(s)];
    }
    for (const int operand : op.operands) {
      const std::optional<std::size_t> point = point_of(partition_, operand, number);
      if (!point || !has(assignment_, *point)) {
        visit(operand);
      } else if (stored_.insert(operand).second) {
        reads_ += partition_.operators[static_cast<std::size_t>(operand)].read;
      }
    }
  }

  const Partition& partition_;
  Assignment assignment_;
  std::set<int> held_, sources_, stored_;
  double reads_ = 0, compute_ = 0;
};

/// Operators that the assignment stores.
std::set<int> stored_by(const Partition& p, Assignment assignment) {
  std::set<int> stored(p.roots.begin(), p.roots.end());
  for (std::size_t k = 0; k < p.points.size(); ++k) {
    if (has(assignment, k)) stored.insert(p.points[k].target);
  }
  return stored;
}

/// For every operator that may be stored, the points that its fused operator could decide.
class Together {
 public:
  explicit Together(const Partition& partition) : partition_(partition) {}

  /// Partitions the points of `free` into independent groups, with the points of `cut` true and all others false.
  [[nodiscard]] std::vector<Assignment> components(Assignment free, Assignment cut) const {
    std::vector<Assignment> groups;
    std::set<int> openers = stored_by(partition_, free | cut);
    for (const int opener : openers) {
      Assignment group = 0;
      for (std::size_t k = 0; k < partition_.points.size(); ++k) {
        if (partition_.points[k].target == opener) group |= bit(k) & free;
      }
      std::set<int> seen;
      reach(opener, free, cut, seen, group);
      join(groups, group);
    }
    return groups;
  }

 private:
  void reach(int number, Assignment free, Assignment cut, std::set<int>& seen, Assignment& group) const {
    if (!seen.insert(number).second) return;
    for (const int operand : partition_.operators[static_cast<std::size_t>(number)].operands) {
      const std::optional<std::size_t> point = point_of(partition_, operand, number);
      if (point && has(cut, *point)) continue;
      if (point) group |= bit(*point) & free;
      reach(operand, free, cut, seen, group);
    }
  }

  static void join(std::vector<Assignment>& groups, Assignment group) {
    if (group == 0) return;
    std::erase_if(groups, [&](Assignment other) {
      if ((other & group) == 0) return false;
      group |= other;
      return true;
    });
    // The merged group may overlap groups that were compared before.
    for (bool met = true; met;) {
      met = false;
      std::erase_if(groups, [&](Assignment other) {
        if ((other & group) == 0) return false;
        group |= other;
        met = true;
        return true;
      });
    }
    groups.push_back(group);
  }

  const Partition& partition_;
};

class Search {
 public:
  Search(const Partition& partition, Pruning pruning)
      : partition_(partition), pruning_(pruning), together_(partition) {}

  Best run() {
    const std::size_t n = partition_.points.size();
    TDSL_CHECK(n < 64, "a partition has fewer than 64 interesting points");
    best_.assignment = solve(n == 0 ? 0 : bit(n) - 1, 0);
    best_.cost = cost_of(partition_, best_.assignment);
    return best_;
  }

 private:
  double cost(Assignment assignment) {
    ++best_.costed;
    return cost_of(partition_, assignment);
  }

  /// The best assignment of the points `free`, with those of `fixed` true and all others false.
  Assignment solve(Assignment free, Assignment fixed) {
    if (free == 0) return fixed;
    if (!pruning_.by_structure) return search(free, fixed, 0);
    const std::vector<Assignment> parts = together_.components(free, fixed);
    if (parts.size() > 1) {
      Assignment all = fixed;
      for (const Assignment part : parts) all |= solve(part, fixed);
      return all;
    }
    return search(free, fixed, cut_set(free, fixed));
  }

  /// One or two points that, when true, separate the others; minimises the largest component.
  [[nodiscard]] Assignment cut_set(Assignment free, Assignment fixed) const {
    constexpr int kLeast = 4;  ///< minimum number of points to try it
    Assignment best = 0;
    int best_score = 0;
    const auto weigh = [&](Assignment cut) {
      const Assignment rest = free & ~cut;
      int largest = 0;
      const std::vector<Assignment> parts = together_.components(rest, fixed | cut);
      if (parts.size() < 2) return;
      for (const Assignment part : parts) largest = std::max(largest, __builtin_popcountll(part));
      const int score = largest + __builtin_popcountll(cut);
      if (best == 0 || score < best_score) {
        best = cut;
        best_score = score;
      }
    };
    if (__builtin_popcountll(free) < kLeast) return 0;
    const std::vector<std::size_t> points = list_of(free);
    for (const std::size_t a : points) weigh(bit(a));
    for (std::size_t a = 0; best == 0 && a < points.size(); ++a) {
      for (std::size_t b = a + 1; b < points.size(); ++b) weigh(bit(points[a]) | bit(points[b]));
    }
    return best;
  }

  static std::vector<std::size_t> list_of(Assignment points) {
    std::vector<std::size_t> list;
    for (std::size_t k = 0; k < 64; ++k) {
      if (has(points, k)) list.push_back(k);
    }
    return list;
  }

  /// Enumerates assignments as binary numbers with the points of the cut set as most significant bits. Skips the
  /// assignments that extend the last true bit if the bound excludes them; solves components separately once the cut
  /// set is true.
  Assignment search(Assignment free, Assignment fixed, Assignment cut) {
    std::vector<std::size_t> order = list_of(cut);
    for (const std::size_t k : list_of(free & ~cut)) order.push_back(k);
    const std::size_t n = order.size();
    std::optional<double> best_cost;
    Assignment best = fixed;
    for (std::uint64_t j = 0; j < bit(n);) {
      Assignment assignment = fixed;
      std::size_t last = 0;
      for (std::size_t k = 0; k < n; ++k) {
        if ((j >> (n - 1 - k) & 1) == 0) continue;
        assignment |= bit(order[k]);
        last = k;
      }
      const auto follow =
          bit(j == 0 ? n : n - 1 - last);  // number of assignments that extend these bits, including this one
      if (cut != 0 && (assignment & ~fixed) == cut) {
        assignment = solve(free & ~cut, assignment);
        take(assignment, best, best_cost);
        j += bit(n - static_cast<std::size_t>(__builtin_popcountll(cut)));
      } else if (pruning_.by_cost && best_cost && lower_bound(partition_, assignment) >= *best_cost) {
        j += follow;
      } else {
        take(assignment, best, best_cost);
        ++j;
      }
    }
    return best;
  }

  void take(Assignment assignment, Assignment& best, std::optional<double>& best_cost) {
    const double its = cost(assignment);
    if (best_cost && its >= *best_cost) return;
    best = assignment;
    best_cost = its;
  }

  const Partition& partition_;
  Pruning pruning_;
  Together together_;
  Best best_;
};

}  // namespace

double cost_of(const Partition& partition, Assignment assignment) {
  double total = 0;
  for (const int root : stored_by(partition, assignment)) total += FusedOperator(partition, assignment).cost(root);
  return total;
}

double lower_bound(const Partition& partition, Assignment assignment) {
  double reads = std::accumulate(partition.source_reads.begin(), partition.source_reads.end(), 0.0);
  double compute = 0, writes = 0;
  for (const Operator& op : partition.operators) compute += op.compute;
  for (const int stored : stored_by(partition, assignment))
    writes += partition.operators[static_cast<std::size_t>(stored)].write;
  std::set<int> targets;
  for (std::size_t k = 0; k < partition.points.size(); ++k) {
    const int target = partition.points[k].target;
    if (has(assignment, k) && targets.insert(target).second)
      reads += partition.operators[static_cast<std::size_t>(target)].read;
  }
  return std::max(reads, compute) + writes;
}

Best enumerate(const Partition& partition, Pruning pruning) { return Search(partition, pruning).run(); }

}  // namespace tdsl::passes::fusion_plans
