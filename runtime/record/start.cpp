#include "runtime/record/start.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace tdsl::record {

namespace {

/// A place with several forms.
struct Place {
  int forms = 1;
  std::vector<double> flops;  ///< by form, over all its iterations
};
using Places = std::map<int, Place>;

class FormChoice {
 public:
  FormChoice(const Recording& program, const plan::PlanInputs& inputs, plan::Schedule schedule) : program_(program), inputs_(inputs), schedule_(schedule) {}

  Start run() {
    Start start{survey(program_), {}, nullptr};
    if (!start.region.choices.empty()) {
      fewest_flops(start.region);
      start.region = survey(program_, forms_);
    }
    if (schedule_ != plan::Schedule::kGreedy) start.plans = plan::plan_program(start.region, inputs_, schedule_);
    if (!forms_.at.empty() && schedule_ != plan::Schedule::kGreedy && !inputs_.reproducible) try_forms(start);
    start.plan = plan_of(start);
    return start;
  }

 private:
  /// Every place takes the form with the fewest operations, the first of several.
  void fewest_flops(const plan::Region& first) {
    note(first);
    int most = 1;
    for (const plan::RegionChoice& choice : first.choices) most = std::max(most, choice.forms);
    for (int form = 1; form < most; ++form) note(survey(program_, Forms{{}, form}));
    for (const auto& [site, place] : places_) {
      forms_.at[site] = static_cast<int>(std::min_element(place.flops.begin(), place.flops.end()) - place.flops.begin());
    }
  }

  void note(const plan::Region& region) {
    std::map<std::pair<int, int>, double> sums;
    for (const plan::RegionChoice& choice : region.choices) {
      Place& place = places_[choice.site];
      place.forms = choice.forms;
      place.flops.resize(static_cast<std::size_t>(choice.forms), kUnknown);
      sums[{choice.site, choice.form}] += choice.flops;
    }
    for (const auto& [key, flops] : sums) places_[key.first].flops[static_cast<std::size_t>(key.second)] = flops;
  }

  /// Of the plan that would be followed.
  [[nodiscard]] std::pair<bool, double> price(const plan::Region& region, const plan::ProgramPlans& plans) const {
    if (plans.alternatives.empty()) return {true, plan::price_of(region, inputs_, nullptr).seconds};
    return {plans.alternatives.front().fits, plans.alternatives.front().price.seconds};
  }

  void try_forms(Start& best) {
    std::vector<std::pair<double, int>> order;
    for (const auto& [site, place] : places_) order.emplace_back(-place.flops[static_cast<std::size_t>(forms_.at[site])], site);
    std::sort(order.begin(), order.end());
    std::pair<bool, double> least = price(best.region, best.plans);
    int trials = kFormTrials;
    std::size_t records = kTriedRecords;
    for (const auto& [work, site] : order) {
      for (int form = 0; form < places_[site].forms; ++form) {
        if (form == forms_.at[site]) continue;
        if (trials == 0 || records < best.region.ops.size()) return;
        --trials;
        records -= best.region.ops.size();
        Forms other = forms_;
        other.at[site] = form;
        Start start{survey(program_, other), {}, nullptr};
        start.plans = plan::plan_program(start.region, inputs_, schedule_);
        const std::pair<bool, double> here = price(start.region, start.plans);
        const bool better = here.first != least.first ? here.first : here.second < least.second * (1 - 1e-9);
        if (!better) continue;
        least = here;
        best = std::move(start);
        forms_ = std::move(other);
      }
    }
  }

  [[nodiscard]] std::shared_ptr<const plan::PlanValue> plan_of(const Start& start) const {
    const bool planned = !start.plans.alternatives.empty() && start.plans.alternatives.front().plan != nullptr;
    if (forms_.at.empty()) return planned ? start.plans.alternatives.front().plan : nullptr;
    plan::PlanValue value;
    if (planned) {
      value = *start.plans.alternatives.front().plan;
    } else {
      value.region = start.region.hash;
      value.ranks = inputs_.ranks;
      value.mesh = plan::meshes_of(inputs_.ranks, inputs_.ranks_per_node).front();
      value.schedule = plan::name_of(plan::Schedule::kGreedy);
    }
    value.forms = forms_.at;
    return std::make_shared<const plan::PlanValue>(std::move(value));
  }

  static constexpr double kUnknown = 1e300;  ///< of a form that no survey came to

  const Recording& program_;
  const plan::PlanInputs& inputs_;
  plan::Schedule schedule_;
  Places places_;
  Forms forms_;
};

}  // namespace

Start start_of(const Recording& program, const plan::PlanInputs& inputs, plan::Schedule schedule) { return FormChoice(program, inputs, schedule).run(); }

}  // namespace tdsl::record
