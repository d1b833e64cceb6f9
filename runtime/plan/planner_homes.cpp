// Storage locations of the planner's tensors, and disk usage.

#include <algorithm>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/rank_view.h"
#include "runtime/plan/planner.h"

namespace tdsl::plan {

int Planner::site_of(TensorId tensor) const {
  if (const auto found = origins_.find(tensor); found != origins_.end()) return found->second.site;
  const Op* const source = waiting_source(tensor);
  return source != nullptr ? source->site : 0;
}

/// Restored tensors have the location recorded for them.
Housing Planner::housing_of(const Op& op) const {
  if (op.op_class != OpClass::kRestore) return inputs_.housing_of(op);
  const auto found = origins_.find(op.outputs.front().id);
  return found != origins_.end() ? found->second.restored : Housing{};
}

/// Tensors placed by an owner table stay in memory.
void Planner::house(const Op& op, OpPlan& plan) const {
  plan.housing = plan.space.by_table() ? Housing{} : housing_of(op);
}

void Planner::note_disk(const PlannedOp& op, const Dead& dead) {
  if (op.plan.housing.home == Home::kDisk) {
    for (const TensorDesc& output : op.op.outputs) {
      double most = 0;
      for (const Index rank : rank_sample(op.plan.space, inputs_.sample)) {
        const double rounding = static_cast<double>(op.plan.space.owned_tiles(rank) * kDiskGrain);
        most = std::max(most, counting::away_bytes(output, op.plan.space, op.plan.housing, rank) + rounding);
      }
      disk_now_ += on_disk_.insert_or_assign(output.id, most).second ? most : 0;
    }
    needed_.disk = std::max(needed_.disk, static_cast<Index>(std::min(disk_now_, static_cast<double>(kMostVolume))));
  }
  for (const TensorId id : dead) forget_disk(id);
}

/// Releases the tensor's extents on disk.
void Planner::forget_disk(TensorId tensor) {
  const auto found = on_disk_.find(tensor);
  if (found == on_disk_.end()) return;
  disk_now_ -= found->second;
  on_disk_.erase(found);
}

}  // namespace tdsl::plan
