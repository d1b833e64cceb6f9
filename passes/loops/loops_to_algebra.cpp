// Turns `for` loops whose updates are affine and independent, or combine by an associative operator, into Computes.
// Innermost loops first; a body of several updates is split unless a later iteration feeds an earlier statement;
// branches become guards; ranges such as 0..i become a rectangle with a guard.
//
//     %5 = for %0..%1 by 1 with (%4) do (%6:i64 "i", %7:f64[%1] "y") {
//       %8 = compute [] (mul(2.0, %3[%6])) left [%6] base %7
//       yield %8
//     }
// becomes
//     %8 = compute [i in 0..%1] (mul(2.0, %3[i])) left [i] base %4
//
// A remaining loop gets a remark with the dependence and, if it runs element by element over a tensor and computes no
// whole tensor, the warning `[sequential-loop]`. Semantics are preserved up to the rounding of re-associated float
// sums. Precondition: verified. Postcondition: verified; best followed by `updates`.

#include "passes/passes.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "ir/graph/affine.h"
#include "passes/loops/accumulations.h"
#include "passes/loops/aligned_labels.h"
#include "passes/loops/loop_body.h"
#include "passes/loops/loop_dependences.h"
#include "passes/loops/loop_forms.h"
#include "passes/loops/loop_ranges.h"
#include "passes/loops/loop_vectorise.h"
#include "passes/loops/nodes_to_algebra.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// `t = sum[j](e); s = s + t` accumulates e over j directly.
void merge_reductions(const Program& program, LoopBody& body) {
  for (Node& node : body.statements) {
    Compute& c = std::get<Compute>(node.op);
    if (!c.combine || !c.reduce.empty()) continue;
    const auto* r = std::get_if<Read>(&c.bodies[0]->op);
    if (r == nullptr || !r->subscripts.empty()) continue;
    const Node* total = body.statement_of(r->tensor);
    if (total == nullptr || total == &node) continue;
    const Compute& t = std::get<Compute>(total->op);
    const bool mergeable = t.out.empty() && t.left.empty() && !t.base && t.monoid && equal(*t.monoid, *c.combine);
    int uses = 0;
    for (const Node& s : body.statements) {
      uses += static_cast<int>(std::ranges::count(operands_of(program, s), r->tensor));
    }
    if (!mergeable || uses != 1) continue;
    const auto shift = static_cast<std::int32_t>(c.out.size());
    c.reduce = t.reduce;
    c.monoid = t.monoid;
    c.guard = conjunction_of(c.guard, shift_labels(t.guard, 0, shift));
    c.bodies[0] = shift_labels(t.bodies[0], 0, shift);
  }
}

/// True if an iteration computes a tensor or a slice of one, which makes the cost of single-element updates negligible.
bool computes_whole_tensors(const Program& program, const Region& body) {
  bool found = false;
  for_each_node(body, [&](const Node& n) {
    const bool whole = match(
        n.op, [](const Compute& c) { return !c.out.empty(); },
        [&](const Random&) { return program.type(n.results[0]).rank() > 0; }, [](const Routine&) { return true; },
        [](const Chain&) { return true; }, [](const auto&) { return false; });
    found = found || whole;
  });
  return found;
}

/// True if the loop's own statements update single elements of tensors.
bool runs_element_by_element(const Program& program, const Region& region) {
  return std::ranges::any_of(region.nodes, [&](const Node& n) {
    if (const auto* c = std::get_if<Compute>(&n.op)) {
      return c->base && c->out.empty() && program.type(n.results[0]).rank() > 0;
    }
    const auto* branch = std::get_if<If>(&n.op);
    return branch != nullptr && (runs_element_by_element(program, branch->then_region) ||
                                 runs_element_by_element(program, branch->else_region));
  });
}

class LoopConverter {
 public:
  LoopConverter(const Program& source, PassContext& context, std::vector<int> counts)
      : program_(source),
        context_(context),
        use_counts_(std::move(counts)),
        ranges_(source),
        sizes_(source, [this](const Extent& e) { return scalars_.resolved(e); }) {}

  Program run() {
    Region body = program_.body;
    convert(body);
    program_.body = std::move(body);
    rename_everywhere(program_, renames_);
    return std::move(program_);
  }

  /// Converts nodes that are not yet part of the program.
  std::vector<Node> run(std::vector<Node> nodes, const KnownScalars& scalars) {
    scalars_ = scalars;
    Region region{{}, std::move(nodes), {}};
    convert(region);
    rename_operands(region, renames_);
    rename_everywhere(program_, renames_);
    return std::move(region.nodes);
  }
  [[nodiscard]] std::vector<ValueInfo> values() && { return std::move(program_.values); }

 private:
  void convert(Region& region) {
    std::vector<Node> nodes;
    for (Node& node : region.nodes) {
      rename_operands(node, renames_);
      scalars_.note(node);
      std::optional<Node> task;  // the original loop
      if (context_.options().task_forms && !in_task_form_ && has_task_form(program_, node)) task = node;
      in_task_form_ = in_task_form_ || task;
      const auto* loop = std::get_if<For>(&node.op);
      if (loop != nullptr)
        ranges_.enter(loop->body.arguments[0], scalars_.resolved(Extent::of(loop->begin)),
                      scalars_.resolved(Extent::of(loop->end)), loop->step);
      for (Region* inner : regions_in(node)) convert(*inner);
      if (loop != nullptr) ranges_.leave();
      if (task) in_task_form_ = false;
      if (std::holds_alternative<For>(node.op) && convert_loop(node, nodes)) continue;
      if (task) {
        std::vector<Node> forms = two_forms(program_, *task, std::move(node), sizes_);
        if (forms.size() > 1)
          context_.applied(
              task->range,
              "in two forms: one task where the loops inside are short, statement by statement where they are long");
        std::ranges::move(forms, std::back_inserter(nodes));
        continue;
      }
      nodes.push_back(std::move(node));
    }
    region.nodes = std::move(nodes);
    for (ValueId& v : region.yields) v = renamed(renames_, v);
  }

  [[nodiscard]] bool is_used(ValueId v) const {
    const auto index = static_cast<std::size_t>(v.id);
    return index >= use_counts_.size() || use_counts_[index] > 0;
  }

  bool convert_loop(const Node& node, std::vector<Node>& into) {
    const For& loop = std::get<For>(node.op);
    if (never_runs(loop)) {
      for (std::size_t k = 0; k < node.results.size(); ++k) renames_.insert({node.results[k], loop.inits[k]});
      return true;
    }
    Refusal refusal;
    ValueMap renames;
    auto nodes = attempt(node, renames, refusal);
    if (!nodes) {
      context_.refused(node.range, refusal.reason);
      const bool slow = runs_element_by_element(program_, loop.body) && !computes_whole_tensors(program_, loop.body);
      if (slow && warned_.emplace(node.range.file, node.range.line, node.range.column).second) {
        // A refusal inside a called function is reported at the loop instead: its own line has no loop.
        const bool inside = refusal.range.known() && refusal.range.file == node.range.file &&
                            refusal.range.line >= node.range.line && refusal.range.line <= node.range.end_line;
        context_.warn("sequential-loop", inside ? refusal.range : node.range,
                      "this loop runs element by element: " + refusal.reason);
      }
      return false;
    }
    context_.applied(node.range, "the loop became tensor algebra");
    for (Node& n : *nodes) {
      scalars_.note(n);
      into.push_back(std::move(n));
    }
    renames_.insert(renames.begin(), renames.end());
    return true;
  }

  [[nodiscard]] bool never_runs(const For& loop) const {
    const auto distance =
        (scalars_.resolved(Extent::of(loop.end)) - scalars_.resolved(Extent::of(loop.begin))).constant();
    return distance && (loop.step > 0 ? *distance <= 0 : *distance >= 0);
  }

  std::optional<std::vector<Node>> attempt(const Node& node, ValueMap& renames, Refusal& refusal) {
    LoopBodyBuilder builder(
        program_, context_, [&](ValueId v) { return scalars_.resolved(Extent::of(v)); },
        [&](ValueId v) { return is_used(v); });
    auto body = builder.build(node);
    if (!body) {
      refusal = builder.refusal();
      return std::nullopt;
    }
    for (Node& n : body->statements) align_labels(std::get<Compute>(n.op), [&](ValueId v) { return v == body->index; });
    normalise_accumulations(program_, *body);
    merge_reductions(program_, *body);
    const auto resolve = [this](const Extent& e) { return scalars_.resolved(e); };
    auto dependences = find_dependences(program_, *body, ranges_, resolve, refusal);
    if (!dependences && normalise_accumulations(program_, *body, ValueReads::kAny)) {
      merge_reductions(program_, *body);
      Refusal of_updates;
      dependences = find_dependences(program_, *body, ranges_, resolve, of_updates);
    }
    if (!dependences) return std::nullopt;
    return vectorise(program_, *body, *dependences, renames, refusal);
  }

  Program program_;
  PassContext& context_;
  std::vector<int> use_counts_;
  LoopRanges ranges_;
  Sizes sizes_;
  bool in_task_form_ = false;  ///< inside a loop that already has a task variant
  KnownScalars scalars_;
  ValueMap renames_;
  /// Loops already warned about: functions and derivatives repeat them.
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> warned_;
};

}  // namespace

Program loops_to_algebra(const Program& program, PassContext& context) {
  return LoopConverter(program, context, use_counts(program)).run();
}

std::vector<Node> nodes_to_algebra(Program& program, std::vector<Node> nodes, const KnownScalars& scalars,
                                   const std::vector<int>& counts, PassOptions options) {
  options.task_forms = false;
  PassContext silent(options);
  LoopConverter converter(program, silent, counts);
  std::vector<Node> result = converter.run(std::move(nodes), scalars);
  program.values = std::move(converter).values();
  return result;
}

}  // namespace tdsl::passes
