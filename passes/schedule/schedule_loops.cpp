// Distributes loop nests that stay sequential in the order of their statements, so that `loops_to_algebra`, the next
// pass, can convert the parts.
//
//     for i in 0..n { for j in i..n { C[i, j] = …; C[j, i] = C[i, j]; } }
// becomes
//     for i in 0..n { for j in i..n { C[i, j] = …; } }
//     for i in 0..n { for j in i..n { C[j, i] = C[i, j]; } }
//
// A variable that each iteration overwrites before it reads it gets a copy per iteration:
//
//     for i in 0..n { for p in 0..m { s[p] = …; } for p in 0..m { A[i, p] = s[p]; } }
// becomes
//     for i in 0..n { for p in 0..m { s2[i, p] = …; } }
//     for i in 0..n { for p in 0..m { A[i, p] = s2[i, p]; } }
//
// A nest is left alone if `loops_to_algebra` converts it as it is, if it is no Scop (scop.h), if the limits are
// reached, or if the parts would need loops as deep as before. A nest that would be one task today is only replaced by
// parts without loops, and not inside of a loop. Every instance of a statement is executed once, on the same operands:
// bits are equal except where loops become reductions, whose float sums are re-associated.

#include <algorithm>
#include <iterator>
#include <utility>

#include "ir/analysis/serial_loop.h"
#include "ir/graph/clone.h"
#include "passes/loops/loop_forms.h"
#include "passes/loops/nodes_to_algebra.h"
#include "passes/passes.h"
#include "passes/region_rewriter.h"
#include "passes/schedule/ranges.h"
#include "passes/schedule/rebuild.h"
#include "passes/schedule/separate.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// The depth of the deepest loop nest.
int depth_of(const std::vector<Node>& nodes) {
  int deepest = 0;
  for (const Node& n : nodes) {
    int inside = 0;
    for (const Region* r : regions_in(n)) inside = std::max(inside, depth_of(r->nodes));
    const bool loop = std::holds_alternative<For>(n.op) || std::holds_alternative<While>(n.op);
    deepest = std::max(deepest, inside + (loop ? 1 : 0));
  }
  return deepest;
}

class Scheduler : public RegionRewriter {
 public:
  Scheduler(const Program& program, PassContext& context)
      : RegionRewriter(program, context),
        use_counts_(use_counts(program)),
        facts_(program),
        sets_(context.options().set_operations) {
    for_each_node(program.body, [this](const Node& n) { scalars_.note(n); });
    for (const Node& n : program.body.nodes) {
      const bool check = std::holds_alternative<Check>(n.op);
      if (!check && (is_effect(n) || !regions_in(n).empty())) break;
      if (check || std::holds_alternative<Dimension>(n.op)) sizes_.push_back(n);
    }
  }

 private:
  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    const bool loop = std::holds_alternative<For>(node.op) || std::holds_alternative<While>(node.op);
    if (!loop || is_marked_serial(node)) return keep(std::move(node), earlier);
    const std::vector<ValueInfo> values = program_.values;
    bool converted = false;
    // Inside of a loop, a nest that may be one task stays one: only its sizes tell if parts are faster.
    const bool task = !why_not_serial(program_, node);
    const bool stays = std::holds_alternative<While>(node.op) || (task && in_loop_);
    auto nodes = stays ? std::nullopt : scheduled(node, converted);
    if (nodes) {
      std::ranges::move(*nodes, std::back_inserter(earlier));
      return;
    }
    program_.values = values;  // drops those of attempts
    if (converted || task) {
      earlier.push_back(std::move(node));
      return;
    }
    const bool outer = std::exchange(in_loop_, true);
    keep(std::move(node), earlier);
    in_loop_ = outer;
  }

  /// The distributed nest, or nothing. `converted`: no loop of the nest remains anyway.
  std::optional<std::vector<Node>> scheduled(const Node& nest, bool& converted) {
    std::vector<Node> today = algebra({nest});
    converted = depth_of(today) == 0;
    if (converted || today.size() != 1 || !std::holds_alternative<For>(today[0].op) || today[0].results != nest.results)
      return std::nullopt;
    NoScop why;
    auto scop = extract(
        program_, today[0], [&](ValueId v) { return is_used(v); }, why);
    if (!scop) {
      if (why.limit) context_.refused(nest.range, "not distributed: " + why.reason + " [schedule-limit]");
      return std::nullopt;
    }
    if (!IntegerSets::available()) {
      context_.refused(nest.range, "not distributed: this compiler was built without isl [no-scheduler]");
      return std::nullopt;
    }
    const Resolve resolve = [&](const Extent& e) { return scalars_.resolved(e); };
    measure(*scop, resolve);
    if (!widen_arrays(*scop, resolve)) return std::nullopt;
    const int before = depth_of(today);
    const bool one_task = !why_not_serial(program_, today[0]);
    const int most = one_task ? 0 : before - 1;
    if (most == 0 && recurs(*scop, resolve, sets_)) return std::nullopt;
    prepare(*scop, resolve);
    const auto found = dependences(*scop, resolve, sets_);
    if (!found) {
      context_.refused(nest.range, "not distributed: its dependences are too many to compute [schedule-limit]");
      return std::nullopt;
    }
    const auto steps = distributed(*scop, *found);
    if (!steps) return std::nullopt;
    auto parts = cheapest(*scop, *steps, most);
    if (parts) context_.applied(nest.range, "the statements of the loop run one after the other");
    return parts;
  }

  /// The parts in which the remaining loops are least deep, at most `most` deep. Statements read older versions only if
  /// that makes loops less deep.
  std::optional<std::vector<Node>> cheapest(const Scop& scop, const std::vector<Step>& steps, int most) {
    std::optional<std::vector<Node>> best;
    std::vector<ValueInfo> best_values;
    ValueMap best_renames;
    const std::vector<ValueInfo> values = program_.values;
    for (const ReadVersion version : {ReadVersion::kCurrent, ReadVersion::kBefore}) {
      program_.values = values;
      ValueMap renames;
      std::vector<Node> parts = rebuilt(program_, scop, steps, facts_, version, renames);
      std::vector<ValueInfo> defined = program_.values;
      const int depth = depth_of(algebra(parts));
      if (depth > most) continue;
      most = depth - 1;
      best = std::move(parts);
      best_values = std::move(defined);
      best_renames = std::move(renames);
    }
    program_.values = best ? std::move(best_values) : values;
    renames_.insert(best_renames.begin(), best_renames.end());
    return best;
  }

  /// Separates products and gives iterations copies; no product is separated without a copy for each instance.
  void prepare(Scop& scop, const Resolve& resolve) {
    Scop apart = scop;
    const std::size_t products = separate_products(program_, apart, facts_);
    privatise(program_, apart, resolve, sets_);
    const std::size_t first = apart.arrays.size() - products;
    const bool useful = std::ranges::all_of(apart.statements, [&](const ScopStatement& s) {
      return s.array < first || apart.arrays[s.array].expanded == s.loops;
    });
    if (useful) {
      scop = std::move(apart);
    } else {
      privatise(program_, scop, resolve, sets_);
    }
  }

  /// What `loops_to_algebra` makes of the nodes.
  std::vector<Node> algebra(std::vector<Node> nodes) {
    program_.body.nodes = sizes_;  // the rest has been moved out
    return nodes_to_algebra(program_, std::move(nodes), scalars_, use_counts_, context_.options());
  }

  [[nodiscard]] bool is_used(ValueId v) const {
    const auto index = static_cast<std::size_t>(v.id);
    return index >= use_counts_.size() || use_counts_[index] > 0;
  }

  std::vector<int> use_counts_;
  ExtentFacts facts_;
  KnownScalars scalars_;
  IntegerSets sets_;
  std::vector<Node> sizes_;  ///< dimensions, and checks in front of the first loop
  bool in_loop_ = false;     ///< inside of a loop that stays
};

}  // namespace

Program schedule_loops(const Program& program, PassContext& context) { return Scheduler(program, context).run(); }

}  // namespace tdsl::passes
