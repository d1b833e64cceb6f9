// Marks the outermost loops whose bodies consist of work on scalars and single elements only: each becomes one task, a
// native function on whole tensors, instead of an operation per statement and iteration.
//
//     %9:f64[%0] "x" = for %1..%0 by 1 with (%3) do (%4:i64 "i", %5:f64[%0] "x") {
//       %8 = compute [] (add(%5[sub(%4, 1)], %2[%4])) left [%4] base %5
//       yield %8
//     }
// becomes
//     %9:f64[%0] "x" = for %1..%0 by 1 serial with (%3) do (…) { … }
//
// A loop of whole-tensor statements whose sizes are known at run time gets two variants: a task for small tensors,
// statements for large ones (loop_forms.h).
//
// ir/analysis/serial_loop.h defines serial loops. Other loops with element work of their own get a remark with the
// reason. Precondition and postcondition: verified; earlier passes have turned all other loops into algebra.

#include "passes/passes.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "ir/analysis/serial_loop.h"
#include "ir/graph/affine.h"
#include "passes/loops/loop_forms.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// True if a statement of the region itself, not of a nested loop, reads or writes a single tensor element.
bool touches_elements(const Region& region) {
  return std::ranges::any_of(region.nodes, [](const Node& n) {
    if (const auto* branch = std::get_if<If>(&n.op))
      return touches_elements(branch->then_region) || touches_elements(branch->else_region);
    const auto* c = std::get_if<Compute>(&n.op);
    if (c == nullptr || !c->out.empty() || !c->reduce.empty()) return false;
    return !c->left.empty() || any_read(c->bodies[0], [](const Read& r) { return !r.subscripts.empty(); });
  });
}

bool is_serial_branch(const Region& r) { return r.nodes.size() == 1 && is_marked_serial(r.nodes[0]); }

class Marker : public RegionRewriter {
 public:
  Marker(Program program, PassContext& context)
      : RegionRewriter(std::move(program), context),
        sizes_(program_, [this](const Extent& e) { return scalars_.resolved(e); }) {
    for_each_node(program_.body, [this](const Node& n) { scalars_.note(n); });
  }

 private:
  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    if (mark(node)) {
      earlier.push_back(std::move(node));
      return;
    }
    const SourceRange range = node.range;
    const std::string refusal = has_forms_ ? "" : refusal_of(node);
    std::vector<Node> forms = forms_of(std::move(node));
    Node& last = forms.back();
    if (!is_marked_serial(last)) {
      if (forms.size() == 1 && !refusal.empty()) context_.refused(range, refusal);
      const bool outer = has_forms_;
      const auto* branch = std::get_if<If>(&last.op);
      for (Region* inner : regions_in(last)) {
        // If a loop has a serial variant for short sizes, the else branch runs for long ones.
        if (branch != nullptr && inner == &branch->else_region)
          has_forms_ = outer || is_serial_branch(branch->then_region);
        rewrite_region(*inner);
      }
      has_forms_ = outer;
    }
    std::ranges::move(forms, std::back_inserter(earlier));
  }

  std::vector<Node> forms_of(Node node) {
    if (has_forms_ || !is_loop(node)) {
      std::vector<Node> same;
      same.push_back(std::move(node));
      return same;
    }
    const SourceRange range = node.range;
    std::vector<Node> forms = two_forms_of_tensors(program_, std::move(node), sizes_);
    if (forms.size() > 1) {
      context_.applied(
          range, "in two forms: one task where its tensors are small, statement by statement where they are large");
    } else if (is_marked_serial(forms[0])) {
      is_native(range);
      context_.applied(range, "the loop over small tensors is one task on one rank");
    }
    return forms;
  }

  void is_native(const SourceRange& loop) { context_.withdraw("sequential-loop", loop); }

  static bool is_loop(const Node& n) {
    return std::holds_alternative<For>(n.op) || std::holds_alternative<While>(n.op);
  }

  bool mark(Node& node) {
    if (is_marked_serial(node)) return true;
    auto* f = std::get_if<For>(&node.op);
    auto* w = std::get_if<While>(&node.op);
    if (f == nullptr && w == nullptr) return false;
    if (why_not_serial(program_, node)) return false;
    (f != nullptr ? f->serial : w->serial) = true;
    is_native(node.range);
    context_.applied(node.range, "the loop is one task on one rank");
    return true;
  }

  /// The reason why a loop that updates single elements is not one task, for a remark; empty for other nodes.
  [[nodiscard]] std::string refusal_of(const Node& node) const {
    const auto* f = std::get_if<For>(&node.op);
    const auto* w = std::get_if<While>(&node.op);
    if ((f == nullptr && w == nullptr) || !touches_elements(f != nullptr ? f->body : w->body)) return {};
    const auto reason = why_not_serial(program_, node);
    return reason ? "not one task: " + reason->reason : "";
  }

  KnownScalars scalars_;
  Sizes sizes_;
  bool has_forms_ = false;  ///< inside a loop that already has two variants
};

}  // namespace

Program serial_loops(const Program& program, PassContext& context) { return Marker(program, context).run(); }

}  // namespace tdsl::passes
