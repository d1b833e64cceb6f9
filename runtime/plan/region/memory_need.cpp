#include "runtime/plan/region/memory_need.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/last_uses.h"
#include "runtime/plan/cost/rank_view.h"
#include "runtime/plan/region/planned_region.h"
#include "runtime/plan/steps/step_fit.h"
#include "runtime/plan/value/imposed.h"

namespace tdsl::plan {

namespace {

/// Up to this many ranks above the given number, every number is tried.
constexpr Index kRanksTriedInTurn = 16;

/// Bytes that one rank holds, with sized blocks at their expected size.
class ExpectedBytes {
 public:
  explicit ExpectedBytes(Index rank) : rank_(rank) {}

  [[nodiscard]] Index rank() const { return rank_; }
  /// Returns the bytes held while the operation runs.
  double run(const PlannedOp& op, double step, const std::vector<TensorId>& dead) {
    if (updates_in_place(op.op, op.plan) && std::ranges::find(dead, op.op.base) != dead.end()) free(op.op.base);
    for (const TensorDesc& output : op.op.outputs) {
      const double bytes =
          counting::resident_bytes(output, distribution_of(op.op, op.plan, output), op.plan.housing, rank_).expected;
      owned_[output.id] = bytes;
      live_ += bytes;
    }
    const double held = live_ + step;
    for (const TensorId id : dead) free(id);
    return held;
  }

 private:
  void free(TensorId id) {
    const auto found = owned_.find(id);
    if (found == owned_.end()) return;
    live_ -= found->second;
    owned_.erase(found);
  }

  Index rank_;
  std::unordered_map<TensorId, double> owned_;
  double live_ = 0;
};

/// Expected bytes that one step receives and assembles.
double expected_step(const PlannedOp& op, const TensorLookup& tensors, Index rank, const PlanInputs& inputs) {
  const Cost cost = cost_of(op.op, op.plan, tensors, rank, inputs.machine, inputs.threads);
  const double received = received_at_once(op.op, op.plan, cost, tensors, rank, inputs).expected;
  return received + cost.away_bytes + inputs.threads * assembled_bytes(op.op, op.plan, tensors, rank);
}

}  // namespace

MemoryNeed certain_need(const Region& region, const PlanInputs& inputs, const std::shared_ptr<const PlanValue>& plan) {
  Planner planner = planner_of(inputs, plan);
  MemoryNeed need;
  Index operation = 0;
  static_cast<void>(plan_one_by_one(region, planner, [&] {
    if (planner.needed_memory().bytes > need.bytes) need = planner.needed_memory(), need.operation = operation;
    ++operation;
  }));
  need.disk = planner.needed_memory().disk;
  return need;
}

MemoryNeed expected_need(const Region& region, const PlanInputs& inputs, const std::shared_ptr<const PlanValue>& plan) {
  Planner planner = planner_of(inputs, plan);
  const std::vector<PlannedSegment> planned = plan_one_by_one(region, planner);
  const std::set<Index> sample = sample_of(planned, inputs.sample);
  std::vector<ExpectedBytes> ranks;
  RegionEnds ends;
  MemoryNeed need;
  int run = -1;
  for (std::size_t k = 0; k < planned.size(); ++k) {
    if (std::exchange(run, region.ops[k].run) != region.ops[k].run) ranks = {sample.begin(), sample.end()};
    for (std::size_t p = 0; p < planned[k].ops.size(); ++p) {
      const PlannedOp& op = *planned[k].ops[p];
      const std::vector<TensorId> dead = ends.after(region.ops[k], planned[k], p);
      for (ExpectedBytes& rank : ranks) {
        const double step = expected_step(op, planner.lookup(), rank.rank(), inputs);
        const Index held = Estimate::whole(rank.run(op, step, dead));
        if (held > need.bytes) need = {held, Estimate::whole(step), op.op.name, op.op.line, 0, static_cast<Index>(k)};
      }
    }
  }
  need.disk = planner.needed_memory().disk;
  return need;
}

double most_need(const Region& region, int threads) {
  std::unordered_map<TensorId, double> live;
  double sum = 0, most = 0;
  int run = 0;
  for (const RegionOp& recorded : region.ops) {
    if (std::exchange(run, recorded.run) != recorded.run) live.clear(), sum = 0;
    for (const TensorDesc& output : recorded.op.outputs) {
      const auto bytes = static_cast<double>(output.bytes());
      if (live.emplace(output.id, bytes).second) sum += bytes;
    }
    most = std::max(most, sum);
    for (const TensorId id : recorded.last_uses) {
      const auto found = live.find(id);
      if (found == live.end()) continue;
      sum -= found->second;
      live.erase(found);
    }
  }
  // Held and received blocks, partial results per thread, and the copies each thread assembles.
  return most * (2 + 2 * threads);
}

std::optional<Index> enough_ranks(const std::function<bool(Index)>& fits, Index ranks, Index unit, double shared) {
  if (shared > static_cast<double>(kMostRanksTried)) return std::nullopt;
  Index low = ranks / unit, high = 2 * low;
  while (high * unit <= kMostRanksTried && !fits(high * unit)) {
    low = high;
    high *= 2;
  }
  if (high * unit > kMostRanksTried) return std::nullopt;
  while (high - low > kRanksTriedInTurn) {
    const Index middle = low + (high - low) / 2;
    (fits(middle * unit) ? high : low) = middle;
  }
  for (Index count = low + 1; count < high; ++count) {
    if (fits(count * unit)) return count * unit;
  }
  return high * unit;
}

}  // namespace tdsl::plan
