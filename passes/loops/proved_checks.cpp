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

#include <algorithm>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/extent_facts.h"
#include "passes/loops/loop_forms.h"
#include "passes/passes.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class CheckProver : public RegionRewriter {
 public:
  CheckProver(const Program& program, PassContext& context) : RegionRewriter(program, context), facts_(program) {
    for_each_node(program.body, [this](const Node& n) { scalars_.note(n); });
  }

 private:
  /// A loop around the current node: the smallest and the largest value of its index.
  struct Range {
    ValueId index;
    Extent lowest;
    Extent highest;
  };

  void rewrite_region(Region& region) override {
    const std::size_t passed = passed_.size();
    RegionRewriter::rewrite_region(region);
    passed_.erase(passed_.begin() + static_cast<std::ptrdiff_t>(passed), passed_.end());
  }

  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    if (const auto* check = std::get_if<Check>(&node.op)) {
      const Extent room = scalars_.resolved(check->right - check->left);
      const bool at_most = check->relation == Check::Relation::kAtMost;
      if (!loops_.empty() && at_most && never_negative(room, loops_.size())) {
        context_.applied(node.range, "the ranges of the loops prove the bounds of a slice");
        return;
      }
      if (at_most && !check->guard) passed_.push_back(room);
    }
    const auto* loop = std::get_if<For>(&node.op);
    if (loop == nullptr) return keep(std::move(node), earlier);
    const Extent begin = scalars_.resolved(Extent::of(loop->begin));
    const Extent end = scalars_.resolved(Extent::of(loop->end));
    const bool up = loop->step > 0;
    loops_.push_back({loop->body.arguments[0], up ? begin : end + Extent(1), up ? end - Extent(1) : begin});
    keep(std::move(node), earlier);
    loops_.pop_back();
  }

  /// True if the extent is at least 0 for all values of the outermost `loops` loops.
  [[nodiscard]] bool never_negative(const Extent& e, std::size_t loops) const {
    if (facts_.never_negative(e)) return true;
    if (std::ranges::any_of(passed_, [&](const Extent& room) { return facts_.never_negative(e - room); })) return true;
    if (loops == 0) return false;
    const Range& around = loops_[loops - 1];
    Extent least = e;
    if (mentions(e, around.index)) {
      const auto form = linear_in(e, around.index);
      if (!form) return false;
      least = form->rest + Extent(form->coefficient) * (form->coefficient > 0 ? around.lowest : around.highest);
    }
    return never_negative(least, loops - 1) || never_negative(least - (around.highest - around.lowest), loops - 1);
  }

  ExtentFacts facts_;
  KnownScalars scalars_;
  std::vector<Range> loops_;    ///< outermost first
  std::vector<Extent> passed_;  ///< not negative, by the checks in front of the current node
};

}  // namespace

Program proved_checks(const Program& program, PassContext& context) { return CheckProver(program, context).run(); }

}  // namespace tdsl::passes
