// Removes checks inside of loops whose conditions the ranges of these loops imply.
//
//     for %8..%0 by 1 with (%7) do (%9:i64 "i", …) {
//       check 0 <= %9 "…"
//       check %9 <= %0 "…"
//       %12 = compute [i in 0..%0 - %9] (…) left [%9, add(i, %9)] base %10
//       yield %12
//     }
// becomes the same loop without its checks.
//
// A slice, `C[i, i:n]`, is checked where it is written. A check that cannot fail would keep its loop sequential. A
// condition is an extent that must not be negative; its least value over the ranges is taken from the innermost loop
// outwards. A loop whose body runs has at least one value, and checks in front of a check have passed. Precondition
// and postcondition: verified.

#include <vector>

#include "passes/loops/loop_forms.h"
#include "passes/loops/loop_ranges.h"
#include "passes/passes.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class CheckProver : public RegionRewriter {
 public:
  CheckProver(const Program& program, PassContext& context) : RegionRewriter(program, context), ranges_(program) {
    for_each_node(program.body, [this](const Node& n) { scalars_.note(n); });
  }

 private:
  void rewrite_region(Region& region) override {
    const std::size_t passed = ranges_.passed();
    RegionRewriter::rewrite_region(region);
    ranges_.forget(passed);
  }

  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    if (const auto* check = std::get_if<Check>(&node.op)) {
      const Extent room = scalars_.resolved(check->right - check->left);
      const bool at_most = check->relation == Check::Relation::kAtMost;
      if (!ranges_.empty() && at_most && ranges_.never_negative(room)) {
        context_.applied(node.range, "the ranges of the loops prove the bounds of a slice");
        return;
      }
      if (at_most && !check->guard) ranges_.pass(room);
    }
    const auto* loop = std::get_if<For>(&node.op);
    if (loop == nullptr) return keep(std::move(node), earlier);
    ranges_.enter(loop->body.arguments[0], scalars_.resolved(Extent::of(loop->begin)),
                  scalars_.resolved(Extent::of(loop->end)), loop->step);
    keep(std::move(node), earlier);
    ranges_.leave();
  }

  LoopRanges ranges_;
  KnownScalars scalars_;
};

}  // namespace

Program proved_checks(const Program& program, PassContext& context) { return CheckProver(program, context).run(); }

}  // namespace tdsl::passes
