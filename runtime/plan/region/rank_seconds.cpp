#include "runtime/plan/region/rank_seconds.h"

#include <utility>
#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/region/planned_region.h"
#include "runtime/plan/value/imposed.h"

namespace tdsl::plan {

double seconds_on(const Region& region, const PlanInputs& inputs, const std::shared_ptr<const PlanValue>& plan,
                  Index rank) {
  Planner planner = planner_of(inputs, plan);
  const std::vector<PlannedSegment> planned = plan_one_by_one(region, planner);
  double seconds = 0;
  for (std::size_t k = 0; k < planned.size(); ++k) {
    for (const auto& op : planned[k].ops) {
      const bool once = op->op.is_source();
      seconds += (once ? 1 : region.ops[k].weight) *
                 cost_of(op->op, op->plan, planner.lookup(), rank, inputs.machine, inputs.threads).seconds.hi;
    }
  }
  return seconds;
}

}  // namespace tdsl::plan
