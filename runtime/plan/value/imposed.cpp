#include "runtime/plan/value/imposed.h"

#include <utility>

#include "runtime/plan/op.h"

namespace tdsl::plan {

Index ImposedPlan::shift_of(int site, Index execution) const {
  const auto decided = plan_->at.find(site);
  if (decided == plan_->at.end()) return 0;
  return decided->second.turn * (execution % plan_->ranks) % plan_->ranks;
}

const Layout* ImposedPlan::layout_for(const Op& op, Index execution) {
  const bool combination = op.op_class == OpClass::kCombine;
  const Index shift = shift_of(op.site, execution);
  const auto [known, fresh] = resolved_.try_emplace({op.site, combination, shift});
  std::optional<Layout>& layout = known->second;
  if (fresh) {
    const auto decided = plan_->at.find(op.site);
    if (decided != plan_->at.end()) {
      const Decision& decision = decided->second;
      const Mesh& mesh = plan_->mesh;
      if (combination) {
        layout = parse_layout(decision.result.empty() ? decision.work : decision.result, result_names(op), mesh);
      } else {
        layout = parse_layout(decision.work, slot_names(op), mesh);
      }
      if (layout) layout = turned(std::move(*layout), shift, plan_->ranks);
    }
  }
  if (!layout) return nullptr;
  layout->cut.resize(op.shape.size() + op.reduce.size());  // a combination's parts are not cut
  return &*layout;
}

const KeptCopy* ImposedPlan::copy_of(const Op& op) {
  const auto [known, fresh] = copies_.try_emplace(op.site);
  std::optional<KeptCopy>& copy = known->second;
  if (fresh) {
    const auto decided = plan_->at.find(op.site);
    if (decided != plan_->at.end() && !decided->second.copy.empty()) {
      std::optional<Layout> layout = parse_layout(decided->second.copy, result_names(op), plan_->mesh);
      if (layout) {
        layout->cut.resize(op.outputs.front().shape.size());  // a loop has no dimensions; its result is never cut
        copy = KeptCopy{std::move(*layout), decided->second.readers};
      }
    }
  }
  return copy ? &*copy : nullptr;
}

}  // namespace tdsl::plan
