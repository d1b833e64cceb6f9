#include "runtime/plan/schedules/schedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "runtime/plan/schedules/placed_tasks.h"

namespace tdsl::plan {

namespace {

constexpr std::array kSchedules{&schedules::kSearch, &schedules::kEinDecomp, &schedules::kPattern, &schedules::kLshs,
                                &schedules::kGreedy};

/// Plans whose predicted times differ by less than this factor count as equally fast; the one with fewer bytes wins.
constexpr double kAsFast = 1.01;

/// Tie-break between equally fast plans: the one that receives less, then the one that holds less.
bool holds_less(const PlanPrice& a, const PlanPrice& b) {
  const auto held = [](const PlanPrice& price) { return price.peak_bytes + static_cast<double>(price.largest_step); };
  return a.bytes_received != b.bytes_received ? a.bytes_received < b.bytes_received : held(a) < held(b);
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

bool in_window(const PlanPrice& price, const PlanInputs& inputs) {
  return inputs.window == 0 || price.largest_step <= inputs.window;
}

Alternative weigh(std::string name, std::shared_ptr<const PlanValue> plan, std::string note, const Region& region,
                  const PlanInputs& inputs) {
  Alternative a{std::move(name), std::move(plan), {}, 0, true, std::move(note)};
  a.price = price_of(region, inputs, a.plan);
  a.held_bytes = inputs.memory > 0 ? a.price.needed_bytes : a.price.peak_bytes;
  a.fits = a.held_bytes <= memory_limit(region, inputs) * (1 + 1e-9) && in_window(a.price, inputs);
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
  if (schedule.workflow == nullptr) return schedule.plan(planning);
  const Workflow workflow = schedule.workflow(planning.region, planning.inputs, planning.most_tasks);
  return weigh(schedule, plan_of(planning.region, planning.inputs, workflow, schedule.name), planning);
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

Alternative plan_by(const Schedule& schedule, const Region& region, const PlanInputs& inputs) {
  Planning planning{region, inputs};
  std::optional<Alternative> found = found_by(schedule, planning);
  return found ? std::move(*found) : weigh(schedule, {}, planning);
}

Workflow scheduled_workflow(const Schedule* schedule, const Region& region, const PlanInputs& inputs) {
  return schedule != nullptr && schedule->workflow != nullptr
             ? schedule->workflow(region, inputs, kWorkflowTasks)
             : workflow_of(region, inputs, {{1}, inputs.ranks}, kWorkflowTasks);
}

}  // namespace tdsl::plan
