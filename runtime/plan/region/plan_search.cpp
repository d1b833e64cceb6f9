#include "runtime/plan/region/plan_search.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tdsl::plan {

namespace {

/// The largest sum of live tensors at any operation, divided by the ranks: what a rank must hold at least.
double share_of(const Region& region, Index ranks) {
  std::map<TensorId, double> bytes;
  for (const RegionOp& recorded : region.ops) {
    for (const TensorDesc& output : recorded.op.outputs) bytes[output.id] = static_cast<double>(output.bytes());
  }
  std::map<TensorId, double> live;
  double sum = 0, most = 0;
  const auto enter = [&](TensorId id) {
    const auto known = bytes.find(id);
    if (known != bytes.end() && live.emplace(id, known->second).second) sum += known->second;
  };
  int run = 0;
  for (const RegionOp& recorded : region.ops) {
    if (recorded.run != run) {
      live.clear();
      sum = 0;
      run = recorded.run;
    }
    const bool source = recorded.op.op_class == OpClass::kSource || recorded.op.op_class == OpClass::kLoad;
    if (!source) {
      for (const Access& access : recorded.op.reads) enter(access.tensor);
      for (const TensorDesc& output : recorded.op.outputs) enter(output.id);
      most = std::max(most, sum);
    }
    for (const TensorId id : recorded.last_uses) {
      const auto found = live.find(id);
      if (found == live.end()) continue;
      sum -= found->second;
      live.erase(found);
    }
  }
  return most / static_cast<double>(ranks);
}

}  // namespace

FoundPlan search(const Region& region, const PlanInputs& inputs) {
  const double share = share_of(region, inputs.ranks);
  const double slack = static_cast<double>(inputs.least_slack);
  const double cap = inputs.memory > 0 ? static_cast<double>(inputs.memory) : std::max(inputs.share_cap * share, share + slack);
  std::optional<FoundPlan> best;
  double least_excess = 0;
  for (const Mesh& mesh : meshes_of(inputs.ranks, inputs.ranks_per_node)) {
    const RegionNetwork network(region, inputs, mesh);
    MemoryLimits limits = network.memory();
    limits.cap = cap;
    limits.share = std::max(share, 1.0);
    const FittingSolution found = solve_within(network.network(), limits, {}, network.arcs());
    if (found.solution.cost == kForbidden) continue;
    const bool better = !best || (found.fits != best->fits ? found.fits : found.fits ? found.solution.cost < best->seconds : found.excess < least_excess);
    if (!better) continue;
    FoundPlan plan{network.plan_of(found.solution.values), found.solution.cost, found.solution.exact, found.fits, 0, cap};
    for (const MemoryLimits::Point& point : limits.points) plan.peak_bytes = std::max(plan.peak_bytes, bytes_at(point, found.solution.values));
    least_excess = found.excess;
    best = std::move(plan);
  }
  return best ? std::move(*best) : FoundPlan{};
}

}  // namespace tdsl::plan
