#include "runtime/plan/region/schedules.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tdsl::plan {

namespace {

constexpr std::array<std::pair<std::string_view, Schedule>, 2> kSchedules{{{"auto", Schedule::kAuto}, {"greedy", Schedule::kGreedy}}};

Alternative greedy(const Region& region, const PlanInputs& inputs) { return {"greedy", nullptr, price_of(region, inputs, nullptr), true}; }

/// The searched plan, if there is one.
std::optional<Alternative> searched(const Region& region, const PlanInputs& inputs, std::string& note) {
  FoundPlan found = search(region, inputs, {});
  if (found.plan.at.empty()) return std::nullopt;
  note = found.exact ? "the cheapest of its kind" : "found by descent";
  found.plan.schedule = "auto";
  auto plan = std::make_shared<const PlanValue>(std::move(found.plan));
  return Alternative{"search", plan, price_of(region, inputs, plan), found.fits};
}

}  // namespace

const char* name_of(Schedule schedule) {
  for (const auto& [name, known] : kSchedules) {
    if (known == schedule) return name.data();
  }
  return "";
}

std::optional<Schedule> schedule_named(std::string_view name) {
  for (const auto& [known, schedule] : kSchedules) {
    if (known == name) return schedule;
  }
  return std::nullopt;
}

std::string schedule_names() {
  std::string names;
  for (const auto& [name, schedule] : kSchedules) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

ProgramPlans plan_program(const Region& region, const PlanInputs& inputs, Schedule schedule) {
  ProgramPlans plans;
  if (region.ops.empty() || inputs.ranks == 1) return plans;
  plans.alternatives.push_back(greedy(region, inputs));
  // Under --reproducible what is decided for owners must change no cut, which the search does not know yet.
  if (schedule == Schedule::kGreedy || inputs.reproducible) return plans;
  if (std::optional<Alternative> found = searched(region, inputs, plans.note)) plans.alternatives.push_back(std::move(*found));
  std::stable_sort(plans.alternatives.begin(), plans.alternatives.end(), [](const Alternative& a, const Alternative& b) {
    return a.fits != b.fits ? a.fits : a.price.seconds < b.price.seconds;
  });
  return plans;
}

}  // namespace tdsl::plan
