#include "runtime/plan/value/imposed.h"

#include "runtime/plan/op.h"

namespace tdsl::plan {

const Layout* ImposedPlan::layout_for(const Op& op) {
  const bool combination = op.op_class == OpClass::kCombine;
  const auto [known, fresh] = resolved_.try_emplace({op.site, combination});
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
      const std::optional<Layout> layout = parse_layout(decided->second.copy, result_names(op), plan_->mesh);
      if (layout) copy = KeptCopy{*layout, decided->second.readers};
    }
  }
  return copy ? &*copy : nullptr;
}

}  // namespace tdsl::plan
