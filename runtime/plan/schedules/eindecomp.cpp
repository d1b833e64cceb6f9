#include <utility>

#include "runtime/plan/schedules/schedule.h"

namespace tdsl::plan {

namespace {

/// The cheapest linearisation of all meshes; nothing if values along some path exclude each other.
std::optional<PlanValue> linearised(const Region& region, const PlanInputs& inputs) {
  std::optional<PlanValue> plan;
  double least = kForbidden;
  for (const Mesh& mesh : few_meshes(inputs.ranks, inputs.ranks_per_node)) {
    const RegionNetwork network(region, inputs, mesh);
    const Answer answer = linearise(network.network(), network.arcs());
    if (answer.cost >= least) continue;
    least = answer.cost;
    plan = network.plan_of(answer.values);
  }
  return plan;
}

std::optional<Alternative> by_linearisation(Planning& planning) {
  return weigh(schedules::kEinDecomp,
               planning.compares ? std::move(planning.linearised) : linearised(planning.region, planning.inputs),
               planning);
}

}  // namespace

const Schedule schedules::kEinDecomp{"eindecomp", "by linearisation", by_linearisation};

}  // namespace tdsl::plan
