#include "ir/verify/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/analysis/iteration_rules.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

using Result = SparseIteration::Result;

class IterationVerifier {
 public:
  IterationVerifier(const Program& program, const Compute& compute, bool compressed_result)
      : program_(program), c_(compute), it_(*compute.iteration), compressed_(compressed_result), rules_(program, c_) {}

  std::vector<std::string> run() {
    if (it_.loops.empty()) return without_loops();
    require(rules_.supported(), "iterates over stored elements, which its stores or reads do not allow");
    if (!well_formed()) return std::move(problems_);
    for (std::size_t depth = 0; depth < it_.loops.size(); ++depth) loop(depth);
    for (int k = 0; k < static_cast<int>(it_.operands.size()); ++k) operand(k);
    read_as_iterated();
    require(rules_.keeps_order(it_), "combines values in another order than a user's reduction requires");
    require(it_.result == (compressed_ ? rules_.result_of(it_) : Result::kDense) &&
                (it_.result != Result::kDense || !compressed_),
            fmt::format("its loops do not make a result that is {}", name_of(it_.result)));
    return std::move(problems_);
  }

 private:
  void require(bool good, const std::string& message) {
    if (!good) problems_.push_back(message);
  }
  [[nodiscard]] const StoredOperand& at(int k) const { return it_.operands[static_cast<std::size_t>(k)]; }
  [[nodiscard]] bool has_operand(int k) const { return k >= 0 && k < static_cast<int>(it_.operands.size()); }

  std::vector<std::string> without_loops() {
    const bool made = it_.operands.empty() && it_.masks.empty() && compressed_ &&
                      ((it_.result == Result::kMoved && rules_.moves_elements()) ||
                       (it_.result == Result::kPoints && rules_.computes_points()) ||
                       (it_.result == Result::kAssembled && rules_.assembles()));
    require(made, fmt::format("makes no compressed result as `{}`", name_of(it_.result)));
    return std::move(problems_);
  }

  /// The numbers of operands and labels exist.
  bool well_formed() {
    std::set<std::int32_t> labels;
    for (const StoredLoop& loop : it_.loops) {
      require(labels.insert(loop.label).second, "iterates over an index variable twice");
      require(!loop.over.empty() && std::ranges::all_of(loop.over, [&](int k) { return has_operand(k); }),
              "has a loop over unknown operands");
    }
    require(std::ranges::all_of(it_.masks, [&](int k) { return has_operand(k); }), "has an unknown mask");
    for (const StoredOperand& o : it_.operands)
      require(std::ranges::find(rules_.operands(), o) != rules_.operands().end(),
              fmt::format("does not read the levels of %{}", o.tensor.id));
    if (!problems_.empty()) return false;
    const std::vector<std::int32_t>& rows = it_.driver().labels;
    bool driven = it_.loops.size() >= rows.size() && it_.loops.front().over.front() == 0;
    for (std::size_t d = 0; driven && d < rows.size(); ++d)
      driven = it_.loops[d].label == rows[d] && it_.loops[d].over == it_.loops.front().over;
    require(driven, "does not begin with loops over all levels of its first operand");
    return driven;
  }

  /// Points without the loop's elements must have no effect.
  void loop(std::size_t depth) {
    const StoredLoop& loop = it_.loops[depth];
    std::vector<StoredOperand> over;
    for (const int k : loop.over) {
      over.push_back(at(k));
      const std::size_t level = levels_iterated(it_, at(k), depth);
      require(level < at(k).labels.size() && at(k).labels[level] == loop.label,
              fmt::format("iterates over a level of %{} without those above it", at(k).tensor.id));
      require(loop.over.size() == 1 || (loop.over == it_.loops.front().over && loop.merge == it_.loops.front().merge &&
                                        at(k).labels == it_.driver().labels),
              "merges operands other than the driver's companions");
    }
    if (loop.merge == Merge::kFirst) over.resize(1);
    const bool needed = loop.merge == Merge::kUnion
                            ? rules_.are_needed(over)
                            : std::ranges::all_of(over, [&](const StoredOperand& o) { return rules_.are_needed({o}); });
    require(needed, fmt::format("skips points with an effect where elements of %{} are absent", over[0].tensor.id));
  }

  /// All levels are iterated; of an operand without a loop, to look up its elements.
  void operand(int k) {
    require(levels_iterated(it_, at(k), it_.loops.size()) == at(k).labels.size(),
            fmt::format("does not iterate over all levels of %{}", at(k).tensor.id));
    const bool masks = std::ranges::find(it_.masks, k) != it_.masks.end();
    require(!masks || rules_.are_needed({at(k)}),
            fmt::format("has %{} as a mask, without whose elements points have an effect", at(k).tensor.id));
  }

  void read_as_iterated() {
    std::set<ValueId> told;
    for (const Expr& e : {c_.bodies[0], c_.guard}) {
      if (!e) continue;
      for_each_read(e, [&](const Read& r) {
        if (program_.type(r.tensor).is_compressed() && !visits(c_, it_, r.tensor) && told.insert(r.tensor).second)
          require(false, fmt::format("reads %{} where it is not visited", r.tensor.id));
      });
    }
  }

  const Program& program_;
  const Compute& c_;
  const SparseIteration& it_;
  bool compressed_;
  IterationRules rules_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> iteration_problems(const Program& program, const Node& node, const Compute& c) {
  return IterationVerifier(program, c, program.type(node.results[0]).is_compressed()).run();
}

}  // namespace tdsl::ir
