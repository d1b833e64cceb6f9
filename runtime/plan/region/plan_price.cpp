#include "runtime/plan/region/plan_price.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/last_uses.h"
#include "runtime/plan/region/planned_region.h"
#include "runtime/plan/value/imposed.h"

namespace tdsl::plan {

namespace {

/// Bytes that ranks hold while the operations of a region run one after the other.
class HeldBytes {
 public:
  explicit HeldBytes(std::vector<Index> ranks) : ranks_(std::move(ranks)) { begin_run(); }

  /// Tensors of different survey runs are independent.
  void begin_run() { held_ = {ranks_.begin(), ranks_.end()}; }
  void add(const RegionOp& recorded, const PlannedSegment& planned) {
    for (std::size_t k = 0; k < planned.ops.size(); ++k) {
      const std::vector<TensorId> dead = ends_.after(recorded, planned, k);
      for (ResidentBytes& rank : held_) peak_ = std::max(peak_, rank.run(*planned.ops[k], 0, dead));
    }
  }
  [[nodiscard]] double peak() const { return peak_; }

 private:
  std::vector<Index> ranks_;
  std::vector<ResidentBytes> held_;
  RegionEnds ends_;
  double peak_ = 0;
};

/// Totals of one rank's traffic and work.
struct RankTotal {
  double received = 0;
  double messages = 0;
  double tasks = 0;

  void add(double weight, const RankTotal& other) {
    received += weight * other.received;
    messages += weight * other.messages;
    tasks += weight * other.tasks;
  }
};

RankTotal mean_of(const std::vector<RankTotal>& ranks) {
  RankTotal mean;
  for (const RankTotal& rank : ranks) mean.add(1 / static_cast<double>(ranks.size()), rank);
  return mean;
}

}  // namespace

PlanPrice price_of(const Region& region, const PlanInputs& inputs, const std::shared_ptr<const PlanValue>& plan) {
  Planner planner(inputs);
  if (plan != nullptr) planner.impose(std::make_unique<ImposedPlan>(plan));
  const std::vector<PlannedSegment> planned = plan_one_by_one(region, planner);
  const std::set<Index> sample = sample_of(planned, inputs.sample);
  const std::vector<Index> ranks(sample.begin(), sample.end());
  std::vector<RankTotal> totals(ranks.size());
  // Decisions that turn give every rank every part of the work, execution by execution.
  const auto turns = [&](int site) {
    if (plan == nullptr) return false;
    const auto decided = plan->at.find(site);
    return decided != plan->at.end() && decided->second.turn > 0;
  };
  PlanPrice price;
  HeldBytes held(ranks);
  int run = 0;
  for (std::size_t k = 0; k < planned.size(); ++k) {
    if (region.ops[k].run != run) held.begin_run();
    run = region.ops[k].run;
    held.add(region.ops[k], planned[k]);
    for (const auto& op : planned[k].ops) {
      const double weight = op->op.is_source() ? 1 : region.ops[k].weight;
      double slowest = 0;
      std::vector<RankTotal> once;
      for (const Index rank : ranks) {
        const Cost cost = cost_of(op->op, op->plan, planner.lookup(), rank, inputs.machine, inputs.threads);
        slowest = std::max(slowest, cost.seconds.hi);
        once.push_back({cost.bytes_expected, messages_of(cost).hi, cost.tasks.hi});
      }
      if (weight > 1 && turns(op->op.site)) once.assign(ranks.size(), mean_of(once));
      for (std::size_t r = 0; r < ranks.size(); ++r) totals[r].add(weight, once[r]);
      price.seconds += weight * slowest;
      price.seconds_of_site[op->op.site] += weight * slowest;
    }
  }
  for (const RankTotal& total : totals) {
    price.bytes_received = std::max(price.bytes_received, total.received);
    price.mean_received += total.received / static_cast<double>(ranks.size());
    price.messages = std::max(price.messages, total.messages);
    price.tasks = std::max(price.tasks, total.tasks);
  }
  price.peak_bytes = held.peak();
  price.needed_bytes = static_cast<double>(planner.needed_memory().bytes);
  price.largest_step = planner.largest_step();
  price.unplanned = planner.unplanned();
  return price;
}

}  // namespace tdsl::plan
