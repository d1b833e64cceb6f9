#include "runtime/plan/region/schedules.h"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <utility>

#include "runtime/plan/workflow/lshs.h"
#include "runtime/plan/workflow/pattern.h"
#include "runtime/plan/workflow/placed_tasks.h"

namespace tdsl::plan {

namespace {

constexpr std::array kSchedules = {Schedule::kSearch, Schedule::kEinDecomp, Schedule::kPattern, Schedule::kLshs, Schedule::kGreedy};

PlanValue without_decisions(const Region& region, const PlanInputs& inputs) {
  PlanValue plan;
  plan.region = region.hash;
  plan.ranks = inputs.ranks;
  plan.mesh = meshes_of(inputs.ranks, inputs.ranks_per_node).front();
  return plan;
}

PlanPrice priced(const Region& region, const PlanInputs& inputs, const PlanValue& plan) {
  return price_of(region, inputs, plan.at.empty() ? nullptr : std::make_shared<const PlanValue>(plan));
}

PlanValue by_search(const Region& region, const PlanInputs& inputs, const SearchOptions& options) {
  PlanValue plan = search(region, inputs, options).plan;
  return plan.at.empty() ? without_decisions(region, inputs) : plan;
}

/// Where the values along some path forbid those of another, the region is left undecided.
PlanValue by_linearisation(const Region& region, const PlanInputs& inputs) {
  PlanValue plan = without_decisions(region, inputs);
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

PlanValue by_pattern(const Region& region, const PlanInputs& inputs) {
  Workflow workflow = workflow_of(region, inputs, {{1}, inputs.ranks});
  schedule_pattern(region, inputs, workflow);
  return plan_of(region, inputs, workflow, name_of(Schedule::kPattern));
}

/// The node grid is what a user of NumS gives: here all nodes in one dimension or in two near-equal ones, whichever is cheaper.
PlanValue by_lshs(const Region& region, const PlanInputs& inputs) {
  const bool in_nodes = inputs.ranks_per_node > 1 && inputs.ranks_per_node < inputs.ranks && inputs.ranks % inputs.ranks_per_node == 0;
  const Index workers = in_nodes ? inputs.ranks_per_node : 1, nodes = inputs.ranks / workers;
  Index side = 1;
  for (Index n = 1; n * n <= nodes; ++n) side = nodes % n == 0 ? n : side;
  std::vector<std::vector<Index>> grids{{nodes, 1}};
  if (side > 1) grids.push_back({nodes / side, side});
  std::optional<PlanValue> best;
  double least = 0;
  for (const std::vector<Index>& grid : grids) {
    try {
      Workflow workflow = workflow_of(region, inputs, {grid, inputs.ranks});
      schedule_lshs(region, {grid, workers}, workflow);
      PlanValue plan = plan_of(region, inputs, workflow, name_of(Schedule::kLshs));
      const double seconds = grids.size() == 1 ? 0 : priced(region, inputs, plan).seconds;
      if (best && seconds >= least) continue;
      best = std::move(plan);
      least = seconds;
    } catch (const std::runtime_error&) {  // too many tasks
      if (&grid == &grids.back() && !best) throw;
    }
  }
  return *best;
}

PlanValue one_plan(Schedule schedule, const Region& region, const PlanInputs& inputs, const ScheduleOptions& options) {
  if (inputs.ranks == 1) return without_decisions(region, inputs);
  switch (schedule) {
    case Schedule::kSearch: return by_search(region, inputs, options.search);
    case Schedule::kEinDecomp: return by_linearisation(region, inputs);
    case Schedule::kPattern: return by_pattern(region, inputs);
    case Schedule::kLshs: return by_lshs(region, inputs);
    case Schedule::kAuto:
    case Schedule::kGreedy: break;
  }
  return without_decisions(region, inputs);
}

bool better(const PricedPlan& a, const PricedPlan& b) {
  if (!a.refused.empty() || !b.refused.empty()) return a.refused.empty() && !b.refused.empty();
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.price.seconds < b.price.seconds * (1 - 1e-9) : a.price.peak_bytes < b.price.peak_bytes;
}

}  // namespace

const char* name_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::kAuto: return "auto";
    case Schedule::kSearch: return "search";
    case Schedule::kEinDecomp: return "eindecomp";
    case Schedule::kPattern: return "pattern";
    case Schedule::kLshs: return "lshs";
    case Schedule::kGreedy: return "greedy";
  }
  return "?";
}

std::optional<Schedule> schedule_called(std::string_view name) {
  if (name == name_of(Schedule::kAuto)) return Schedule::kAuto;
  const auto found = std::find_if(kSchedules.begin(), kSchedules.end(), [name](Schedule schedule) { return name == name_of(schedule); });
  return found == kSchedules.end() ? std::nullopt : std::optional(*found);
}

std::string schedule_names() {
  std::string names = name_of(Schedule::kAuto);
  for (const Schedule schedule : kSchedules) names += std::string(", ") + name_of(schedule);
  return names;
}

Alternatives compare_schedules(const Region& region, const PlanInputs& inputs, const ScheduleOptions& options) {
  Alternatives all;
  all.limit_bytes = memory_limit(region, inputs);
  for (const Schedule schedule : kSchedules) {
    PricedPlan plan{schedule, {}, {}, true, {}};
    try {
      plan.plan = plan_by(schedule, region, inputs, options);
      plan.price = priced(region, inputs, plan.plan);
      plan.fits = plan.price.peak_bytes <= all.limit_bytes * (1 + 1e-9);
    } catch (const std::runtime_error& error) {
      plan.refused = error.what();
    }
    all.plans.push_back(std::move(plan));
    if (better(all.plans.back(), all.plans[all.chosen])) all.chosen = all.plans.size() - 1;
  }
  return all;
}

PlanValue plan_by(Schedule schedule, const Region& region, const PlanInputs& inputs, const ScheduleOptions& options) {
  if (schedule == Schedule::kAuto) {
    Alternatives all = compare_schedules(region, inputs, options);
    return std::move(all.plans[all.chosen].plan);
  }
  PlanValue plan = one_plan(schedule, region, inputs, options);
  plan.schedule = name_of(schedule);
  return plan;
}

}  // namespace tdsl::plan
