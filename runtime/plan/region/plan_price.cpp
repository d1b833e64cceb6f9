#include "runtime/plan/region/plan_price.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/last_uses.h"
#include "runtime/plan/value/imposed.h"

namespace tdsl::plan {

PlanPrice price_of(const Region& region, const PlanInputs& inputs, const std::shared_ptr<const PlanValue>& plan) {
  PlanInputs unlimited = inputs;
  unlimited.memory = 0;  // the limit is the search's
  Planner planner(unlimited);
  if (plan != nullptr) planner.impose(std::make_unique<ImposedPlan>(plan));
  const std::vector<Index> ranks = rank_sample(inputs.ranks);
  std::vector<double> received(ranks.size(), 0), tasks(ranks.size(), 0), messages(ranks.size(), 0);
  std::vector<ResidentBytes> held;
  const auto begin_run = [&] {
    held.clear();
    for (const Index rank : ranks) held.emplace_back(rank);
  };
  PlanPrice price;
  begin_run();
  int run = 0;
  for (const RegionOp& recorded : region.ops) {
    if (recorded.run != run) begin_run();
    run = recorded.run;
    const PlannedSegment planned = planner.plan({{recorded.op}, recorded.last_uses});
    for (ResidentBytes& rank : held) {
      for (const TensorId id : planned.ended) rank.free(id);
      for (std::size_t k = 0; k < planned.ops.size(); ++k) price.peak_bytes = std::max(price.peak_bytes, rank.run(*planned.ops[k], 0, planned.last_names[k]));
    }
    for (const auto& op : planned.ops) {
      const double weight = op->op.op_class == OpClass::kLoad || op->op.op_class == OpClass::kSource ? 1 : recorded.weight;
      double slowest = 0;
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        const Cost cost = cost_of(op->op, op->plan, planner.lookup(), ranks[r], inputs.machine, inputs.threads);
        slowest = std::max(slowest, cost.seconds.hi);
        received[r] += weight * cost.bytes_received.hi;
        messages[r] += weight * messages_of(cost).hi;
        tasks[r] += weight * cost.tasks.hi;
      }
      price.seconds += weight * slowest;
    }
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    price.bytes_received = std::max(price.bytes_received, received[r]);
    price.mean_received += received[r] / static_cast<double>(ranks.size());
    price.messages = std::max(price.messages, messages[r]);
    price.tasks = std::max(price.tasks, tasks[r]);
  }
  return price;
}

}  // namespace tdsl::plan
