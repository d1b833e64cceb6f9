#include "passes/sparse/compressed_copies.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "ir/analysis/iteration_rules.h"
#include "passes/rewriting.h"
#include "passes/sparse/iteration.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// Calls `f` with every Compute that is an operation, its node, and its loop depth.
template <class Nodes, class F>
void each_operation(Nodes& nodes, int loops, const F& f) {
  for (auto& n : nodes) {
    if (auto* c = std::get_if<Compute>(&n.op)) f(n, *c, loops);
    if (!holds_operations(n)) continue;
    const bool loop = std::holds_alternative<For>(n.op) || std::holds_alternative<While>(n.op);
    for (auto* inner : regions_in(n)) each_operation(inner->nodes, loops + (loop ? 1 : 0), f);
  }
}

Program marked_as(Program program, const StorageChoice& choice) {
  for (const auto& [v, walks] : choice.compressed) {
    if (static_cast<std::size_t>(v.id) < program.values.size())
      program.values[static_cast<std::size_t>(v.id)].type.format.compress(true);
  }
  return program;
}

/// True if the operation reads only stored elements of the compressed value.
bool reads_stored(const Program& marked, const Node& n, const Compute& c, ValueId v) {
  const auto iteration = sparse_iteration(marked, n);
  return iteration && visits(c, *iteration, v);
}

class CompressedCopier {
 public:
  CompressedCopier(const Program& program, const StorageChoice& choice, const std::set<ValueId>& refused)
      : marked_(marked_as(program, choice)), result_{program, {}} {
    each_operation(std::as_const(program.body.nodes), 0, [&](const Node& n, const Compute&, int loops) {
      const bool dense =
          n.results.size() == 1 && choice.dense.contains(n.results[0]) && !refused.contains(n.results[0]);
      if (dense && program.type(n.results[0]).rank() == 2 && program.info(n.results[0]).tile.empty())
        consider(n, loops);
    });
  }

  CompressedCopies run() {
    std::map<ValueId, int> walks;
    each(marked_, [&](ValueId v, const Node&, int loops) { walks[v] += loops > loops_.at(v) ? 2 : 1; });
    std::erase_if(loops_, [&](const auto& candidate) { return walks[candidate.first] < 2; });
    for (const auto& [v, loops] : loops_) result_.copies.emplace(v, copy_of(v));
    std::map<const Node*, ValueMap> names;
    each(result_.program, [&](ValueId v, const Node& n, int) { names[&n].emplace(v, result_.copies.at(v)); });
    each_operation(result_.program.body.nodes, 0, [&](Node& n, Compute&, int) {
      if (const auto found = names.find(&n); found != names.end()) rename_operands(n, found->second);
    });
    insert(result_.program.body);
    return std::move(result_);
  }

 private:
  /// Skips values that could be compressed without a copy: choose_storage has decided about them.
  void consider(const Node& n, int loops) {
    Format& format = marked_.values[static_cast<std::size_t>(n.results[0].id)].type.format;
    format.compress(true);
    const auto iteration = sparse_iteration(marked_, n);
    if (!iteration || iteration->result == SparseIteration::Result::kDense)
      loops_.emplace(n.results[0], loops);
    else
      format.compress(false);
  }

  /// Calls `f` for every candidate and each operation that reads only its stored elements.
  template <class F>
  void each(const Program& program, const F& f) const {
    each_operation(program.body.nodes, 0, [&](const Node& n, const Compute& c, int loops) {
      for (const ValueId v : values_read(c)) {
        if (loops_.contains(v) && reads_stored(marked_, n, c, v)) f(v, n, loops);
      }
    });
  }

  ValueId copy_of(ValueId v) {
    const ValueInfo info = result_.program.info(v);
    return result_.program.new_value(info.type, info.name, info.range);
  }
  void insert(Region& region) {
    std::vector<Node> nodes;
    for (Node& n : region.nodes) {
      for (Region* inner : regions_in(n)) insert(*inner);
      const auto found = n.results.size() == 1 ? result_.copies.find(n.results[0]) : result_.copies.end();
      nodes.push_back(std::move(n));
      if (found != result_.copies.end())
        nodes.push_back(copying(result_.program, found->first, found->second, nodes.back().range));
    }
    region.nodes = std::move(nodes);
  }

  Program marked_;                ///< the chosen values and all candidates are marked compressed
  std::map<ValueId, int> loops_;  ///< loop depth of each candidate's definition
  CompressedCopies result_;
};

}  // namespace

CompressedCopies compressed_copies(const Program& program, const StorageChoice& choice,
                                   const std::set<ValueId>& refused) {
  return CompressedCopier(program, choice, refused).run();
}

std::set<ValueId> copies_in_vain(const CompressedCopies& copies, const Program& program, const StorageChoice& choice) {
  std::set<ValueId> vain;
  const Program marked = marked_as(program, choice);
  for (const auto& [v, copy] : copies.copies) {
    if (!choice.compressed.contains(copy)) vain.insert(v);
  }
  each_operation(marked.body.nodes, 0, [&](const Node& n, const Compute& c, int) {
    const std::set<ValueId> read = values_read(c);
    for (const auto& [v, copy] : copies.copies) {
      if (read.contains(copy) && !vain.contains(v) && !reads_stored(marked, n, c, copy)) vain.insert(v);
    }
  });
  return vain;
}

}  // namespace tdsl::passes
