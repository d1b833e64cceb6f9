#include "ir/analysis/coded_readers.h"

#include <algorithm>
#include <set>
#include <vector>

#include "ir/analysis/by_value.h"
#include "ir/analysis/serial_loop.h"
#include "ir/graph/clone.h"

namespace tdsl::ir {

namespace {

/// True if the operation reads the matrix in one loop over its rows with one over the row's elements inside.
bool visits_by_rows(const Compute& c, ValueId v) {
  if (!c.iteration) return false;
  const SparseIteration& iteration = *c.iteration;
  int number = -1;
  for (std::size_t k = 0; k < iteration.operands.size(); ++k) {
    if (iteration.operands[k].tensor != v) continue;
    if (number >= 0 || iteration.operands[k].labels.size() != 2) return false;
    number = static_cast<int>(k);
  }
  if (number != 0 || iteration.loops.size() < 2) return false;
  for (std::size_t level = 0; level < 2; ++level) {
    const StoredLoop& loop = iteration.loops[level];
    if (loop.label != iteration.driver().labels[level] || loop.over != std::vector<int>{0}) return false;
  }
  return std::none_of(iteration.loops.begin() + 2, iteration.loops.end(),
                      [](const StoredLoop& loop) { return std::ranges::find(loop.over, 0) != loop.over.end(); });
}

class ReaderCount {
 public:
  ReaderCount(const Program& program, ValueId v) : program_(program), v_(v) {}

  CodedReaders run() {
    for_each_node(program_.body, [&](const Node& n) {
      const auto mentions = [&](const std::vector<ValueId>& values) { return std::ranges::count(values, v_) > 0; };
      const bool yields = std::ranges::any_of(regions_in(n), [&](const Region* r) { return mentions(r->yields); });
      const auto* c = std::get_if<Compute>(&n.op);
      if (yields || ((c == nullptr || !c->iteration) && mentions(operands_of(program_, n)))) readers_.other = n.range;
    });
    visit(program_.body.nodes, 1);
    return readers_;
  }

 private:
  void visit(const std::vector<Node>& nodes, int times) {
    for (const Node& n : nodes) {
      if (std::holds_alternative<Compute>(n.op)) count({n}, n.range, times);
      if (const auto* f = std::get_if<Fused>(&n.op)) count(f->body.nodes, n.range, times);
      if (std::holds_alternative<Fused>(n.op) || is_marked_serial(n)) continue;
      const bool loop = std::holds_alternative<For>(n.op) || std::holds_alternative<While>(n.op);
      for (const Region* inner : regions_in(n)) visit(inner->nodes, loop ? 2 : times);
    }
  }
  /// The Computes of one operation.
  void count(const std::vector<Node>& members, const SourceRange& range, int times) {
    const auto type = [&](ValueId value) -> const Type& { return program_.type(value); };
    bool reads = false, once_per_value = true, by_rows = true;
    int counts = 0, totals = 0, weights = 0;
    for (const Node& n : members) {
      const auto& c = std::get<Compute>(n.op);
      const bool here = std::ranges::count(operands_of(program_, n), v_) > 0;
      const ByValue by = by_value(c, type);
      reads = reads || here;
      once_per_value = once_per_value && (!c.iteration || by != ByValue::kNone);
      by_rows = by_rows && (!here || (visits_by_rows(c, v_) && c.base != v_));
      counts += here && by == ByValue::kCounts ? times : 0;
      totals += here && by == ByValue::kTotals ? times : 0;
      weights += here && by == ByValue::kWeights ? times : 0;
    }
    if (!reads) return;
    by_rows = by_rows && (members.size() == 1 || walks_alone(members));
    if (once_per_value) {
      readers_.by_value += times;
      readers_.nests += counts + totals + weights > times ? times : 0;
      readers_.counts += counts;
      readers_.totals += totals;
      readers_.weights += weights;
    } else if (by_rows) {
      readers_.by_rows += times;
    } else {
      readers_.other = range;
    }
  }

  /// True if the members of a nest visit no other matrix together with this one.
  [[nodiscard]] bool walks_alone(const std::vector<Node>& members) const {
    std::set<ValueId> inside{v_};
    for (const Node& n : members) inside.insert(n.results.begin(), n.results.end());
    return std::ranges::all_of(members, [&](const Node& n) {
      const auto& c = std::get<Compute>(n.op);
      return !c.iteration || std::ranges::all_of(c.iteration->operands,
                                                 [&](const StoredOperand& o) { return inside.contains(o.tensor); });
    });
  }

  const Program& program_;
  ValueId v_;
  CodedReaders readers_;
};

}  // namespace

CodedReaders coded_readers(const Program& program, ValueId matrix) { return ReaderCount(program, matrix).run(); }

}  // namespace tdsl::ir
