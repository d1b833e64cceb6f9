#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/planner.h"
#include "runtime/plan/region/region.h"
#include "runtime/plan/value/imposed.h"

namespace tdsl::plan {

/// A planner that follows the plan; a null or empty one imposes nothing.
[[nodiscard]] inline Planner planner_of(const PlanInputs& inputs, const std::shared_ptr<const PlanValue>& plan) {
  Planner planner(inputs);
  if (plan != nullptr && !plan->at.empty()) planner.impose(std::make_unique<ImposedPlan>(plan));
  return planner;
}

/// Plans operations one by one, keeping alive only tensors that later ones read; calls `after` following each.
[[nodiscard]] inline std::vector<PlannedSegment> plan_one_by_one(const Region& region, Planner& planner,
                                                                 const std::function<void()>& after = nullptr) {
  std::vector<PlannedSegment> planned;
  std::set<TensorId> living;  // of this survey run
  for (std::size_t k = 0; k < region.ops.size(); ++k) {
    const RegionOp& recorded = region.ops[k];
    std::vector<TensorId> dropped = recorded.last_uses;
    if (k > 0 && recorded.run != region.ops[k - 1].run)
      dropped.insert(dropped.end(), living.begin(), living.end()), living.clear();
    for (const TensorDesc& output : recorded.op.outputs) living.insert(output.id);
    for (const TensorId id : recorded.last_uses) living.erase(id);
    planned.push_back(planner.plan({{recorded.op}, std::move(dropped)}));
    if (after) after();
  }
  return planned;
}

/// The sampled ranks of all operations.
[[nodiscard]] inline std::set<Index> sample_of(const std::vector<PlannedSegment>& planned, Index most) {
  std::set<Index> sample;
  for (const PlannedSegment& segment : planned) {
    for (const auto& op : segment.ops) {
      const std::vector<Index> of_op = rank_sample(op->plan.space, most);
      sample.insert(of_op.begin(), of_op.end());
    }
  }
  return sample;
}

/// Tensors that die at an operation of the region: recorded tensors after the last of its planned operations, copies
/// with their originals, partial results with their combination.
class RegionEnds {
 public:
  [[nodiscard]] std::vector<TensorId> after(const RegionOp& recorded, const PlannedSegment& planned, std::size_t k) {
    const Op& op = planned.ops[k]->op;
    if (op.op_class == OpClass::kCopy) copies_[op.reads.front().tensor] = op.outputs.front().id;
    std::vector<TensorId> dead;
    if (k + 1 == planned.ops.size()) dead = recorded.last_uses;
    for (std::size_t d = 0; d < dead.size(); ++d) {
      if (const auto copy = copies_.find(dead[d]); copy != copies_.end()) dead.push_back(copy->second);
    }
    for (const Access& access : op.reads) {
      if (is_part(access.tensor) && op.op_class == OpClass::kCombine) dead.push_back(access.tensor);
    }
    return dead;
  }

 private:
  std::map<TensorId, TensorId> copies_;
};

}  // namespace tdsl::plan
