#include <algorithm>
#include <utility>

#include "runtime/plan/schedules/schedule.h"

namespace tdsl::plan {

namespace {

/// Above this number of operations only one found plan is priced.
constexpr std::size_t kPricedOften = 400;
/// Plans of other meshes that the search's model predicts to be slower by this factor are not priced: the model is more
/// accurate than that.
constexpr double kFarBehind = 1.5;

std::optional<Alternative> by_search(Planning& planning) {
  return searched_plan(planning.region, planning.inputs, search_meshes(planning.region, planning.inputs, {}),
                       planning.searched);
}

}  // namespace

const Schedule schedules::kSearch{"search", "the cheapest of its kind", by_search};

std::optional<Alternative> searched_plan(const Region& region, const PlanInputs& inputs, MeshPlans meshes,
                                         std::optional<FoundPlan>& searched) {
  std::vector<FoundPlan>& found = meshes.found;
  if (found.empty()) return std::nullopt;
  const bool any = std::ranges::any_of(found, [](const FoundPlan& f) { return f.fits; });
  std::erase_if(found, [any](const FoundPlan& f) { return f.fits != any; });
  if (region.ops.size() > kPricedOften) found.resize(1);
  // The first may have copies, about which the model is most optimistic: the second is the reference.
  const double most = kFarBehind * found[found.size() > 1 ? 1 : 0].seconds;
  std::erase_if(found, [most, any](const FoundPlan& f) { return any && f.seconds > most; });
  std::vector<Alternative> weighed;
  std::vector<PlanPrice> prices;
  for (FoundPlan& f : found) {
    f.plan.schedule = schedules::kSearch.name;
    const char* note = f.exact ? schedules::kSearch.note : "found by descent";
    weighed.push_back(weigh(schedules::kSearch.name, std::make_shared<const PlanValue>(f.plan), note, region, inputs));
    prices.push_back(weighed.back().price);
  }
  const std::size_t best = fastest_of(prices);
  searched = std::move(found[best]);
  return std::move(weighed[best]);
}

}  // namespace tdsl::plan
