#include "runtime/plan/region/plan_price.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/last_uses.h"
#include "runtime/plan/value/imposed.h"

namespace tdsl::plan {

namespace {

/// What ranks hold while the operations of a region run one after the other.
class HeldBytes {
 public:
  explicit HeldBytes(std::vector<Index> ranks) : ranks_(std::move(ranks)) { begin_run(); }

  /// Tensors of one survey run have nothing to do with those of another.
  void begin_run() { held_ = {ranks_.begin(), ranks_.end()}; }
  void add(const RegionOp& recorded, const std::vector<std::shared_ptr<const PlannedOp>>& planned) {
    for (std::size_t k = 0; k < planned.size(); ++k) {
      const Op& op = planned[k]->op;
      if (op.op_class == OpClass::kCopy) copies_[op.reads.front().tensor] = op.outputs.front().id;
      std::vector<TensorId> dead;
      if (k + 1 == planned.size()) dead = recorded.last_uses;
      for (std::size_t d = 0; d < dead.size(); ++d) {  // a copy ends with its original
        if (const auto copy = copies_.find(dead[d]); copy != copies_.end()) dead.push_back(copy->second);
      }
      for (const Access& access : op.reads) {
        if (is_part(access.tensor) && op.op_class == OpClass::kCombine) dead.push_back(access.tensor);
      }
      for (ResidentBytes& rank : held_) peak_ = std::max(peak_, rank.run(*planned[k], 0, dead));
    }
  }
  [[nodiscard]] double peak() const { return peak_; }

 private:
  std::vector<Index> ranks_;
  std::vector<ResidentBytes> held_;
  std::map<TensorId, TensorId> copies_;
  double peak_ = 0;
};

/// The ranks that stand for all, for every operation.
std::vector<Index> sample_of(const std::vector<PlannedSegment>& planned, Index most) {
  std::set<Index> sample;
  for (const PlannedSegment& segment : planned) {
    for (const auto& op : segment.ops) {
      const std::vector<Index> of_op = rank_sample(op->plan.space, most);
      sample.insert(of_op.begin(), of_op.end());
    }
  }
  return {sample.begin(), sample.end()};
}

/// The operations as they are planned with nothing alive but what later ones read.
std::vector<PlannedSegment> plan_one_by_one(const Region& region, Planner& planner) {
  std::vector<PlannedSegment> planned;
  std::set<TensorId> living;  // of this survey run
  for (std::size_t k = 0; k < region.ops.size(); ++k) {
    const RegionOp& recorded = region.ops[k];
    std::vector<TensorId> dropped = recorded.last_uses;
    if (k > 0 && recorded.run != region.ops[k - 1].run) dropped.insert(dropped.end(), living.begin(), living.end()), living.clear();
    for (const TensorDesc& output : recorded.op.outputs) living.insert(output.id);
    for (const TensorId id : recorded.last_uses) living.erase(id);
    planned.push_back(planner.plan({{recorded.op}, std::move(dropped)}));
  }
  return planned;
}

/// What one rank receives and does.
struct RankTotal {
  double received = 0;
  double messages = 0;
  double tasks = 0;
};

}  // namespace

PlanPrice price_of(const Region& region, const PlanInputs& inputs, const std::shared_ptr<const PlanValue>& plan) {
  Planner planner(inputs);
  if (plan != nullptr) planner.impose(std::make_unique<ImposedPlan>(plan));
  const std::vector<PlannedSegment> planned = plan_one_by_one(region, planner);
  const std::vector<Index> ranks = sample_of(planned, inputs.sample);
  std::vector<RankTotal> totals(ranks.size());
  PlanPrice price;
  HeldBytes held(ranks);
  int run = 0;
  for (std::size_t k = 0; k < planned.size(); ++k) {
    if (region.ops[k].run != run) held.begin_run();
    run = region.ops[k].run;
    held.add(region.ops[k], planned[k].ops);
    for (const auto& op : planned[k].ops) {
      const double weight = op->op.op_class == OpClass::kLoad || op->op.op_class == OpClass::kSource ? 1 : region.ops[k].weight;
      double slowest = 0;
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        const Cost cost = cost_of(op->op, op->plan, planner.lookup(), ranks[r], inputs.machine, inputs.threads);
        slowest = std::max(slowest, cost.seconds.hi);
        totals[r].received += weight * cost.bytes_expected;
        totals[r].messages += weight * messages_of(cost).hi;
        totals[r].tasks += weight * cost.tasks.hi;
      }
      price.seconds += weight * slowest;
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
  return price;
}

}  // namespace tdsl::plan
