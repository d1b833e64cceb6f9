#include "runtime/plan/region/schedules.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace tdsl::plan {

namespace {

constexpr std::array<std::pair<std::string_view, Schedule>, 2> kSchedules{{{"auto", Schedule::kAuto}, {"greedy", Schedule::kGreedy}}};

Alternative greedy(const Region& region, const PlanInputs& inputs) { return {"greedy", nullptr, price_of(region, inputs, nullptr), true}; }

/// Plans whose predicted seconds differ by less are equally fast: fewer bytes decide.
constexpr double kAsFast = 1.01;

/// The fastest that fits; of those as fast the one that receives least, of those the first.
std::size_t best_of(const std::vector<Alternative>& alternatives) {
  double fastest = std::numeric_limits<double>::infinity();
  const bool any = std::any_of(alternatives.begin(), alternatives.end(), [](const Alternative& a) { return a.fits; });
  for (const Alternative& a : alternatives) {
    if (a.fits == any) fastest = std::min(fastest, a.price.seconds);
  }
  std::size_t best = alternatives.size();
  for (std::size_t k = 0; k < alternatives.size(); ++k) {
    const Alternative& a = alternatives[k];
    if (a.fits != any || a.price.seconds > fastest * kAsFast) continue;
    if (best == alternatives.size() || a.price.bytes_received < alternatives[best].price.bytes_received) best = k;
  }
  return best;
}

/// Regions of more operations are priced for one found plan only.
constexpr std::size_t kPricedOften = 400;

}  // namespace

std::optional<Alternative> searched_plan(const Region& region, const PlanInputs& inputs, const SearchOptions& options, ProgramPlans& plans) {
  std::vector<FoundPlan> found = search_meshes(region, inputs, options);
  if (found.empty()) return std::nullopt;
  if (region.ops.size() > kPricedOften) found.resize(1);
  std::vector<Alternative> priced;
  for (FoundPlan& f : found) {
    f.plan.schedule = "auto";
    auto plan = std::make_shared<const PlanValue>(f.plan);
    priced.push_back({"search", plan, price_of(region, inputs, plan), f.fits});
  }
  const std::size_t best = best_of(priced);
  plans.note = found[best].exact ? "the cheapest of its kind" : "found by descent";
  plans.found = std::move(found[best]);
  return std::move(priced[best]);
}

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
  if (std::optional<Alternative> found = searched_plan(region, inputs, {}, plans)) plans.alternatives.push_back(std::move(*found));
  const auto best = plans.alternatives.begin() + static_cast<std::ptrdiff_t>(best_of(plans.alternatives));
  std::rotate(plans.alternatives.begin(), best, best + 1);
  return plans;
}

}  // namespace tdsl::plan
