#include "passes/sparse/storage_choice.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "ir/analysis/carried.h"
#include "ir/analysis/iteration_rules.h"
#include "ir/analysis/serial_loop.h"
#include "ir/graph/computes.h"
#include "passes/sparse/iteration.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class Chooser {
 public:
  Chooser(Program program, Candidates candidates) : program_(std::move(program)), nodes_(definitions(program_)) {
    find_carried(program_.body, true);
    for (std::size_t k = 0; k < program_.values.size(); ++k) {
      const ValueId v{static_cast<std::int32_t>(k)};
      Format& format = program_.values[k].type.format;
      if (!(candidates == Candidates::kAll ? format.has_sparse() : format.is_compressed())) continue;
      std::string reason = why_not_by_itself(v);
      format.compress(reason.empty());
      if (!reason.empty()) choice_.dense.emplace(v, std::move(reason));
    }
  }

  StorageChoice run() {
    while (prune()) {}
    choice_.program = std::move(program_);
    return std::move(choice_);
  }

 private:
  using Result = SparseIteration::Result;

  /// `operations`: loops and branches here carry tensor handles; others belong to one task.
  void find_carried(const Region& region, bool operations) {
    for (const Node& n : region.nodes) {
      const bool holds = operations && holds_operations(n);
      if (holds) std::ranges::copy(carried_by(n), std::back_inserter(carried_));
      for (const Region* inner : regions_in(n)) {
        if (!holds) {
          in_tasks_.insert(inner->arguments.begin(), inner->arguments.end());
          in_tasks_.insert(inner->yields.begin(), inner->yields.end());
        }
        find_carried(*inner, holds);
      }
    }
  }

  [[nodiscard]] std::string why_not_by_itself(ValueId v) const {
    const ValueInfo& info = program_.info(v);
    const Node* node = nodes_[static_cast<std::size_t>(v.id)];
    if (!info.tile.empty()) return "its blocks are as `tile` says";
    if (in_tasks_.contains(v)) return "a loop that runs as one task, or a nest of operators, has it";
    if (node == nullptr || holds_operations(*node))  // depends on the values assigned to it
      return "";
    const auto* drawn = std::get_if<Random>(&node->op);
    const bool stored = std::holds_alternative<Input>(node->op) || std::holds_alternative<Compute>(node->op) ||
                        (drawn != nullptr && drawn->kind == Random::Kind::kSparse);
    return stored ? "" : "what makes it makes all elements";
  }

  /// Unmarks values that cannot be compressed because others are not; true if there were any.
  bool prune() {
    choice_.compressed.clear();
    std::map<ValueId, std::string> lost;
    std::set<ValueId> at_points;
    for_each_operation(program_.body.nodes, 0, [&](const Node& n, const Compute& c, int) {
      const std::optional<SparseIteration> iteration = sparse_iteration(program_, n);
      const Result result = iteration ? iteration->result : Result::kDense;
      if (result == Result::kPoints) at_points.insert(n.results[0]);
      if (program_.type(n.results[0]).is_compressed() && result == Result::kDense)
        lost.emplace(n.results[0], "it is not computed from stored elements of others");
      // A dense copy alone does not justify compressing the original.
      if (!iteration || (result == Result::kDense && copied_matrix(n).valid())) return;
      for (const ValueId v : values_read(c)) {
        if (program_.type(v).is_compressed() && visits(c, *iteration, v)) ++choice_.compressed[v];
      }
    });
    // Output files do not justify compressing values computed at all points.
    const std::map<ValueId, int> without_files = choice_.compressed;
    join_carried(lost);
    lose_unused(lost, [&](ValueId v) { return at_points.contains(v); });
    choice_.compressed = without_files;
    for_each_node(program_.body, [&](const Node& n) {
      const auto* written = std::get_if<Output>(&n.op);
      if (written != nullptr && program_.type(written->value).is_compressed()) ++choice_.compressed[written->value];
    });
    join_carried(lost);
    lose_unused(lost, [](ValueId) { return true; });
    for (auto& [v, reason] : lost) {
      program_.values[static_cast<std::size_t>(v.id)].type.format.compress(false);
      choice_.dense.emplace(v, std::move(reason));
    }
    return !lost.empty();
  }

  template <class Which>
  void lose_unused(std::map<ValueId, std::string>& lost, const Which& which) const {
    for (std::size_t k = 0; k < program_.values.size(); ++k) {
      const ValueId v{static_cast<std::int32_t>(k)};
      if (program_.values[k].type.is_compressed() && !choice_.compressed.contains(v) && which(v))
        lost.emplace(v, "nothing that goes over its stored elements alone uses it");
    }
  }

  /// A variable is compressed if all values assigned to it are; sparse iterations over it then count for them.
  void join_carried(std::map<ValueId, std::string>& lost) {
    const auto each = [&](const auto& f) {
      for (bool changed = true; changed;) {  // a variable may be assigned from another one
        changed = false;
        for (const CarriedVariable& variable : carried_) changed = f(variable) || changed;
      }
    };
    each([&](const CarriedVariable& variable) { return share_loss(variable, lost); });
    each([&](const CarriedVariable& variable) { return share_walks(variable, lost); });
  }
  bool share_walks(const CarriedVariable& variable, const std::map<ValueId, std::string>& lost) {
    std::vector<ValueId> all = variable.names;
    all.insert(all.end(), variable.sources.begin(), variable.sources.end());
    int most = 0;
    for (const ValueId v : all) {
      if (!program_.type(v).is_compressed() || lost.contains(v)) return false;
      const auto found = choice_.compressed.find(v);
      most = std::max(most, found == choice_.compressed.end() ? 0 : found->second);
    }
    bool changed = false;
    for (const ValueId v : all) changed = (most > 0 && choice_.compressed.emplace(v, most).second) || changed;
    return changed;
  }
  bool share_loss(const CarriedVariable& variable, std::map<ValueId, std::string>& lost) const {
    const auto is_lost = [&](ValueId v) { return lost.contains(v) || !program_.type(v).is_compressed(); };
    if (std::ranges::none_of(variable.sources, is_lost) && std::ranges::none_of(variable.names, is_lost)) return false;
    bool changed = false;
    for (const ValueId v : variable.names) {
      if (!is_lost(v))
        changed =
            lost.emplace(v, "a loop or branch carries it, and not all that becomes of it there is compressed").second ||
            changed;
    }
    return changed;
  }

  Program program_;  ///< with all candidates marked compressed
  std::vector<const Node*> nodes_;
  std::vector<CarriedVariable> carried_;
  std::set<ValueId> in_tasks_;
  StorageChoice choice_;
};

}  // namespace

Expr is_present(const Expr& element) {
  return element->type == Scalar::kBool ? element : binary(BinaryOp::kNe, element, zero_of(element->type));
}

Node copying(const Program& program, ValueId v, ValueId copy, const SourceRange& range) {
  const Type& type = program.type(v);
  Compute c;
  c.out = plain_labels(type.shape);
  c.bodies = {read(type.scalar, v, plain_subscripts(type.rank()))};
  return {range, {copy}, std::move(c)};
}

ValueId copied_matrix(const Node& node) {
  const auto* c = std::get_if<Compute>(&node.op);
  const auto* r = c != nullptr && is_elementwise(*c) ? std::get_if<Read>(&c->bodies[0]->op) : nullptr;
  if (r == nullptr || r->subscripts.size() != c->out.size()) return {};
  for (std::size_t d = 0; d < c->out.size(); ++d) {
    if (bare_label(r->subscripts[d]) != static_cast<std::int32_t>(d)) return {};
  }
  return r->tensor;
}

StorageChoice choose_storage(Program program, Candidates candidates) {
  return Chooser(std::move(program), candidates).run();
}

}  // namespace tdsl::passes
