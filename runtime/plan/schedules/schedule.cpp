#include "runtime/plan/schedules/schedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "runtime/plan/schedules/placed_tasks.h"

namespace tdsl::plan {

namespace {

constexpr std::array kSchedules{&schedules::kSearch,  &schedules::kEinDecomp, &schedules::kSqrt,
                                &schedules::kPattern, &schedules::kLshs,      &schedules::kGreedy};

/// Plans whose predicted times differ by less than this factor count as equally fast; the one with fewer bytes wins.
constexpr double kAsFast = 1.01;

/// Tie-break between equally fast plans: the one that receives less, then the one that holds less.
bool holds_less(const PlanPrice& a, const PlanPrice& b) {
  const auto held = [](const PlanPrice& price) { return price.peak_bytes + static_cast<double>(price.largest_step); };
  return a.bytes_received != b.bytes_received ? a.bytes_received < b.bytes_received : held(a) < held(b);
}

/// Only workflows with up to this many tasks are compared with the requested schedule: larger ones take seconds.
constexpr Index kComparedTasks = 2'000;
/// Blocks per rank are doubled up to this number to fit a limit.
constexpr Index kMostBlocksPerRank = 16;

struct PlacedWorkflow {
  Workflow workflow;
  Alternative plan;
};

/// The workflow of a schedule of tasks, in blocks small enough for the limits if that is possible, and its plan.
PlacedWorkflow placed_by(const Schedule& schedule, const Planning& planning) {
  const PlanInputs& inputs = planning.inputs;
  BlockRequest blocks;
  if (!planning.asked) blocks.most_tasks = kComparedTasks;
  const auto place = [&] {
    Workflow workflow = schedule.workflow(planning.region, inputs, blocks);
    Alternative plan = weigh(schedule, plan_of(planning.region, inputs, workflow, schedule.name), planning);
    return PlacedWorkflow{std::move(workflow), std::move(plan)};
  };
  PlacedWorkflow best = place();
  double least = excess_of(best.plan, inputs);
  while (least > 0 && planning.asked && inputs.tile.empty() && blocks.per_rank < kMostBlocksPerRank) {
    blocks.per_rank *= 2;
    try {
      PlacedWorkflow finer = place();
      const double excess = excess_of(finer.plan, inputs);
      if (excess >= least) continue;
      least = excess;
      best = std::move(finer);
    } catch (const NoPlan&) { break; }  // too many tasks
  }
  return best;
}

}  // namespace

const Schedule schedules::kGreedy{
    "greedy", "", [](Planning& planning) { return std::optional(weigh(kGreedy, {}, planning)); }, nullptr, false};

std::span<const Schedule* const> all_schedules() { return kSchedules; }

const Schedule* schedule_named(std::string_view name) {
  const auto found = std::ranges::find(kSchedules, name, [](const Schedule* s) { return std::string_view(s->name); });
  return found == kSchedules.end() ? nullptr : *found;
}

std::string schedule_names() {
  std::string names = name_of(nullptr);
  for (const Schedule* schedule : kSchedules) names += std::string(", ") + schedule->name;
  return names;
}

double excess_of(const Alternative& plan, const PlanInputs& inputs) {
  double excess = 0;
  if (inputs.memory > 0) excess = plan.held_bytes - static_cast<double>(inputs.memory) * (1 + 1e-9);
  if (inputs.window > 0) excess = std::max(excess, static_cast<double>(plan.price.largest_step - inputs.window));
  return std::max(excess, 0.0);
}

Alternative weigh(std::string name, std::shared_ptr<const PlanValue> plan, std::string note, const Region& region,
                  const PlanInputs& inputs) {
  Alternative a{std::move(name), std::move(plan), {}, 0, true, std::move(note)};
  a.price = price_of(region, inputs, a.plan);
  a.held_bytes = inputs.memory > 0 ? a.price.needed_bytes : a.price.peak_bytes;
  a.fits = a.held_bytes <= memory_limit(region, inputs) * (1 + 1e-9) && excess_of(a, inputs) == 0;
  return a;
}

Alternative weigh(const Schedule& schedule, std::optional<PlanValue> plan, const Planning& planning) {
  std::shared_ptr<const PlanValue> shared;
  if (plan && !plan->at.empty()) {
    plan->schedule = schedule.name;
    shared = std::make_shared<const PlanValue>(std::move(*plan));
  }
  return weigh(schedule.name, std::move(shared), schedule.note, planning.region, planning.inputs);
}

std::optional<Alternative> found_by(const Schedule& schedule, Planning& planning) {
  return schedule.workflow == nullptr ? schedule.plan(planning) : placed_by(schedule, planning).plan;
}

std::size_t fastest_of(const std::vector<PlanPrice>& prices) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const PlanPrice& price : prices) fastest = std::min(fastest, price.seconds);
  std::size_t best = prices.size();
  for (std::size_t k = 0; k < prices.size(); ++k) {
    if (prices[k].seconds > fastest * kAsFast) continue;
    if (best == prices.size() || holds_less(prices[k], prices[best])) best = k;
  }
  return best;
}

Alternative plan_by(const Schedule& schedule, Planning& planning) {
  std::optional<Alternative> found = found_by(schedule, planning);
  return found ? std::move(*found) : weigh(schedule, {}, planning);
}

Alternative plan_by(const Schedule& schedule, const Region& region, const PlanInputs& inputs) {
  Planning planning{region, inputs};
  return plan_by(schedule, planning);
}

Workflow scheduled_workflow(const Schedule* schedule, const Region& region, const PlanInputs& inputs) {
  if (schedule != nullptr && schedule->workflow != nullptr) return placed_by(*schedule, {region, inputs}).workflow;
  return workflow_of(region, inputs, {{1}, inputs.ranks}, kWorkflowTasks);
}

}  // namespace tdsl::plan
