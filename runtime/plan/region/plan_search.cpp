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

namespace {

/// The search of one mesh: first without copies, then with them from there.
class MeshSearch {
 public:
  MeshSearch(const Region& region, const PlanInputs& inputs, const Mesh& mesh, double cap, double share)
      : region_(region), inputs_(inputs), mesh_(mesh), cap_(cap), share_(share) {}

  FoundPlan run(const SearchOptions& options) {
    try_choices({});
    if (!options.copies) return std::move(best_);
    ChoiceLimits with_copies;
    with_copies.copies = true;
    try_choices(with_copies);
    return std::move(best_);
  }
  [[nodiscard]] double excess() const { return excess_; }

 private:
  void try_choices(const ChoiceLimits& choices) {
    const RegionNetwork network(region_, inputs_, mesh_, choices);
    MemoryLimits limits = network.memory();
    limits.cap = cap_;
    limits.share = std::max(share_, 1.0);
    // Copies are numbered behind what there is without them.
    const FittingSolution found = solve_within(network.network(), limits, start_, network.arcs());
    if (found.solution.cost == kForbidden) return;
    const bool better = start_.empty() || (found.fits != best_.fits ? found.fits : found.fits ? found.solution.cost < best_.seconds * (1 - 1e-12) : found.excess < excess_);
    if (!better) return;
    best_ = {network.plan_of(found.solution.values), found.solution.cost, found.solution.exact, found.fits, 0, cap_};
    for (const MemoryLimits::Point& point : limits.points) best_.peak_bytes = std::max(best_.peak_bytes, bytes_at(point, found.solution.values));
    excess_ = found.excess;
    start_ = found.solution.values;
  }

  const Region& region_;
  const PlanInputs& inputs_;
  const Mesh& mesh_;
  double cap_;
  double share_;
  FoundPlan best_;
  double excess_ = 0;
  Assignment start_;
};

}  // namespace

FoundPlan search(const Region& region, const PlanInputs& inputs, const SearchOptions& options) {
  const double share = share_of(region, inputs.ranks);
  const double slack = static_cast<double>(inputs.least_slack);
  const double cap = inputs.memory > 0 ? static_cast<double>(inputs.memory) : std::max(inputs.share_cap * share, share + slack);
  std::optional<FoundPlan> best;
  double least_excess = 0;
  for (const Mesh& mesh : meshes_of(inputs.ranks, inputs.ranks_per_node)) {
    MeshSearch mesh_search(region, inputs, mesh, cap, share);
    FoundPlan found = mesh_search.run(options);
    if (found.plan.ranks != inputs.ranks) continue;  // nothing is allowed
    const bool better = !best || (found.fits != best->fits ? found.fits : found.fits ? found.seconds < best->seconds : mesh_search.excess() < least_excess);
    if (!better) continue;
    least_excess = mesh_search.excess();
    best = std::move(found);
  }
  return best ? std::move(*best) : FoundPlan{};
}

}  // namespace tdsl::plan
