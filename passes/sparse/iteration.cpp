// Chooses for every operation how it iterates over the stored elements of compressed tensors, and how it makes a
// compressed result. Lowering reads the choice and derives nothing:
//
//     %3 = compute [i in 0..%0] sum[j in 0..%0] (absent_mul(%1[i, j], %2[j]))                     %1 compressed
// becomes
//     %3 = compute [i in 0..%0] sum[j in 0..%0] (absent_mul(%1[i, j], %2[j])) stored [i over %1[i, j], j over %1[i, j]]
//
// Precondition: only sparse iterations and rearrangements read compressed values (dense_copies.cpp). Postcondition: the
// same, with `Compute::iteration` of each operation that reads or makes a compressed value.

#include "passes/sparse/iteration.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "ir/analysis/iteration_rules.h"
#include "ir/graph/computes.h"
#include "passes/passes.h"
#include "passes/region_rewriter.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

template <class T>
bool is_in(const std::vector<T>& list, const T& x) {
  return std::ranges::find(list, x) != list.end();
}

/// Tries all subsets of at least two elements, smallest first, in the order of the list.
template <class F>
bool any_subset(const std::vector<StoredOperand>& list, const F& f) {
  const std::size_t subsets = std::size_t{1} << list.size();
  for (int count = 2; count <= static_cast<int>(list.size()); ++count) {
    for (std::size_t mask = 0; mask < subsets; ++mask) {
      if (std::popcount(mask) != count) continue;
      std::vector<StoredOperand> subset;
      for (std::size_t k = 0; k < list.size(); ++k) {
        if ((mask >> k & 1) != 0) subset.push_back(list[k]);
      }
      if (f(subset)) return true;
    }
  }
  return false;
}

/// Maximum number of operands iterated together.
constexpr std::size_t kMostJoint = 8;

class Iterations {
 public:
  Iterations(const Compute& compute, const IterationRules& rules) : c_(compute), rules_(rules) {}

  /// Among the needed operands, the driver is one with the most dimensions: it has the smallest fraction of its points
  /// stored and is the most expensive to copy. Ties: the one whose iteration covers the most operands, then the first.
  /// If no single operand is needed, a joint iteration over several of which one is needed.
  std::optional<SparseIteration> best() {
    std::vector<StoredOperand> drivers = rules_.operands();
    std::ranges::stable_sort(drivers, std::greater(), [](const StoredOperand& driver) { return driver.labels.size(); });
    std::optional<SparseIteration> best;
    for (const StoredOperand& driver : drivers) {
      if (best && driver.labels.size() < best->driver().labels.size()) break;
      const auto found = rules_.are_needed({driver}) ? driven_by(driver) : std::nullopt;
      if (found && (!best || found->operands.size() > best->operands.size())) best = found;
    }
    return best ? best : joint();
  }

 private:
  [[nodiscard]] static bool is_matrix(const StoredOperand& operand) { return operand.labels.size() == 2; }

  /// All operands read with these labels.
  [[nodiscard]] std::vector<StoredOperand> with_labels(const std::vector<std::int32_t>& labels) const {
    std::vector<StoredOperand> found;
    std::ranges::copy_if(rules_.operands(), std::back_inserter(found),
                         [&](const StoredOperand& other) { return other.labels == labels; });
    return found;
  }

  /// Iterates over the union of several operands with the same labels.
  std::optional<SparseIteration> joint() {
    std::vector<std::vector<std::int32_t>> tried;
    for (const StoredOperand& first : rules_.operands()) {
      if (is_in(tried, first.labels)) continue;
      tried.push_back(first.labels);
      const std::vector<StoredOperand> all = with_labels(first.labels);
      std::vector<StoredOperand> needed;
      if (all.size() > kMostJoint || !any_subset(all, [&](const std::vector<StoredOperand>& subset) {
            return rules_.are_needed(needed = subset);
          }))
        continue;
      // Merging the other operands, too, costs less than looking them up.
      SparseIteration found{needed, {}, {}, SparseIteration::Result::kDense};
      std::ranges::copy_if(all, std::back_inserter(found.operands),
                           [&](const StoredOperand& other) { return !is_in(needed, other); });
      add_loops(found, Merge::kUnion);
      found.result = rules_.result_of(found);
      const bool complete =
          std::ranges::all_of(found.operands, [&](const StoredOperand& o) { return visits(c_, found, o.tensor); });
      if (complete && rules_.keeps_order(found)) return found;
    }
    return std::nullopt;
  }

  /// Tensors also read at coordinates outside the iteration are treated as dense.
  [[nodiscard]] std::optional<SparseIteration> driven_by(const StoredOperand& driver) {
    std::set<ValueId> left_out;
    while (true) {
      SparseIteration found = with_operands(driver, left_out);
      const auto partly =
          std::ranges::find_if(found.operands, [&](const StoredOperand& o) { return !visits(c_, found, o.tensor); });
      if (partly != found.operands.end()) {
        if (partly->tensor == driver.tensor) return std::nullopt;
        left_out.insert(partly->tensor);
        continue;
      }
      if (rules_.keeps_order(found)) return found;
      // Retry with the driver alone.
      const std::size_t before = left_out.size();
      for (const StoredOperand& o : found.operands) {
        if (o.tensor != driver.tensor) left_out.insert(o.tensor);
      }
      if (left_out.size() == before) return std::nullopt;
    }
  }

  /// Iterates over the driver's elements; operands read at the same coordinates are included.
  [[nodiscard]] SparseIteration with_operands(const StoredOperand& driver, const std::set<ValueId>& left_out) {
    SparseIteration found;
    found.operands.push_back(driver);
    std::ranges::copy_if(
        with_labels(driver.labels), std::back_inserter(found.operands),
        [&](const StoredOperand& other) { return !(other == driver) && !left_out.contains(other.tensor); });
    if (found.operands.size() > kMostJoint) found.operands.resize(1);
    const bool all =
        std::ranges::all_of(found.operands, [&](const StoredOperand& other) { return rules_.are_needed({other}); });
    add_loops(found, all ? Merge::kIntersection : Merge::kFirst);
    while (const StoredOperand* next = located(found, left_out)) {
      const std::size_t level = levels_iterated(found, *next, found.loops.size());
      const auto known = std::ranges::find(found.operands, *next);
      const auto number = static_cast<int>(known - found.operands.begin());
      if (known == found.operands.end()) found.operands.push_back(*next);
      found.loops.push_back({next->labels[level], {number}});
    }
    // Operands whose labels are all iterated are looked up.
    for (const StoredOperand& other : rules_.operands()) {
      if (left_out.contains(other.tensor) || levels_iterated(found, other, found.loops.size()) < other.labels.size() ||
          is_in(found.operands, other))
        continue;
      if (rules_.are_needed({other})) found.masks.push_back(static_cast<int>(found.operands.size()));
      found.operands.push_back(other);
    }
    found.result = rules_.result_of(found);
    return found;
  }
  /// Adds loops over all present operands together.
  static void add_loops(SparseIteration& found, Merge merge) {
    std::vector<int> over(found.operands.size());
    std::iota(over.begin(), over.end(), 0);
    for (const std::int32_t label : found.driver().labels)
      found.loops.push_back({label, over, over.size() == 1 ? Merge::kUnion : merge});
  }

  /// An operand with some, but not all, levels iterated; among several, the one whose last iterated level is innermost.
  [[nodiscard]] const StoredOperand* located(const SparseIteration& found, const std::set<ValueId>& left_out) {
    const StoredOperand* best = nullptr;
    std::size_t innermost = 0;
    for (const StoredOperand& o : rules_.operands()) {
      const std::size_t level = levels_iterated(found, o, found.loops.size());
      if (!is_matrix(o) || level == 0 || level == o.labels.size() || found.has_loop(o.labels[level]) ||
          left_out.contains(o.tensor) || !rules_.are_needed({o}))
        continue;
      if (is_iterated_jointly(found, o.tensor)) continue;  // a kernel iterates over an operand in one way only
      if (is_out(o.labels[level]) && !is_out(found.row()) &&
          std::ranges::any_of(found.loops, [&](const StoredLoop& loop) { return is_out(loop.label); }))
        continue;  // avoids a task that holds a whole matrix
      const std::size_t depth = depth_of(found, o.labels[level - 1]);
      if (best != nullptr && depth <= innermost) continue;
      best = &o;
      innermost = depth;
    }
    return best;
  }
  [[nodiscard]] static bool is_iterated_jointly(const SparseIteration& found, ValueId tensor) {
    const std::vector<int>& together = found.loops.front().over;
    return together.size() > 1 && std::ranges::any_of(together, [&](int k) {
             return found.operands[static_cast<std::size_t>(k)].tensor == tensor;
           });
  }
  [[nodiscard]] bool is_out(std::int32_t label) const { return static_cast<std::size_t>(label) < c_.out.size(); }
  [[nodiscard]] static std::size_t depth_of(const SparseIteration& found, std::int32_t label) {
    const auto loop = std::ranges::find(found.loops, label, &StoredLoop::label);
    return static_cast<std::size_t>(loop - found.loops.begin());
  }

  const Compute& c_;
  const IterationRules& rules_;
};

class IterationWriter : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_node(Node n, std::vector<Node>& into) override {
    std::optional<SparseIteration> found = sparse_iteration(program_, n);
    if (found) std::get<Compute>(n.op).iteration = std::move(found);
    keep(std::move(n), into);
  }
};

}  // namespace

std::optional<SparseIteration> sparse_iteration(const Program& program, const Compute& compute,
                                                bool compressed_result) {
  const std::set<ValueId> read = values_read(compute);
  const bool any = std::ranges::any_of(read, [&](ValueId v) { return program.type(v).is_compressed(); });
  if (!any && !compressed_result) return std::nullopt;
  const IterationRules rules(program, compute);
  std::optional<SparseIteration> found = any && rules.supported() ? Iterations(compute, rules).best() : std::nullopt;
  using enum SparseIteration::Result;
  if (found && !compressed_result) found->result = kDense;
  if (!compressed_result || (found && found->result != kDense)) return found;
  if (rules.moves_elements()) return SparseIteration{{}, {}, {}, kMoved};
  if (rules.computes_points()) return SparseIteration{{}, {}, {}, kPoints};
  if (rules.assembles()) return SparseIteration{{}, {}, {}, kAssembled};
  return found;
}

std::optional<SparseIteration> sparse_iteration(const Program& program, const Node& node) {
  const auto* c = std::get_if<Compute>(&node.op);
  return c == nullptr ? std::nullopt : sparse_iteration(program, *c, program.type(node.results[0]).is_compressed());
}

bool reads_stored(const Program& program, const Node& node, ValueId tensor) {
  const auto found = sparse_iteration(program, node);
  return found && visits(std::get<Compute>(node.op), *found, tensor);
}

bool moves_elements(const Program& program, const Node& node) {
  const auto found = sparse_iteration(program, node);
  return found && found->result == SparseIteration::Result::kMoved;
}

Program iteration(const Program& program, PassContext& context) { return IterationWriter(program, context).run(); }

}  // namespace tdsl::passes
