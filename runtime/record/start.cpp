#include "runtime/record/start.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace tdsl::record {

namespace {

/// A site with several forms.
struct FormPlace {
  int forms = 1;
  std::vector<double> flops;  ///< per form, over all its iterations
};
using Places = std::map<int, FormPlace>;

class FormChoice {
 public:
  FormChoice(const Recording& program, const plan::PlanInputs& inputs, const plan::PlanRequest& request)
      : program_(program), inputs_(inputs), request_(request) {}

  Start run() {
    Start start{survey(program_), {}, nullptr, {}, {}};
    if (!start.region.choices.empty()) {
      fewest_flops(start.region);
      if (request_.use) take_forms(*request_.use);
      start.region = survey(program_, forms_);
    }
    const bool by_seconds = plan::plans_whole(request_.schedule) && !request_.use && !inputs_.reproducible;
    if (!forms_.at.empty() && by_seconds) try_forms(start);
    if (plans_are_wanted(request_, inputs_)) start.plans = plan::plans_for(start.region, inputs_, request_);
    start.saved = plan::saved_plan(start.plans, start.region, inputs_, request_);
    start.saved.forms = forms_.at;
    if (!start.saved.at.empty() || !forms_.at.empty())
      start.plan = std::make_shared<const plan::PlanValue>(start.saved);
    return start;
  }

 private:
  /// Adopts the file's choices for sites of this program. Unreadable files are reported when the plan is made.
  void take_forms(const plan::PlanFile& file) {
    try {
      for (const auto& [site, form] : plan::parse_plan(file.text).forms) {
        const auto place = places_.find(site);
        if (place != places_.end() && form < place->second.forms) forms_.at[site] = form;
      }
    } catch (const std::runtime_error&) {}
  }

  /// Selects the form with the fewest operations at every site; ties go to the first.
  void fewest_flops(const plan::Region& first) {
    note(first);
    int most = 1;
    for (const plan::RegionChoice& choice : first.choices) most = std::max(most, choice.forms);
    for (int form = 1; form < most; ++form) note(survey(program_, Forms{{}, form}));
    for (const auto& [site, place] : places_) {
      forms_.at[site] =
          static_cast<int>(std::min_element(place.flops.begin(), place.flops.end()) - place.flops.begin());
    }
  }

  void note(const plan::Region& region) {
    std::map<std::pair<int, int>, double> sums;
    for (const plan::RegionChoice& choice : region.choices) {
      FormPlace& place = places_[choice.site];
      place.forms = choice.forms;
      place.flops.resize(static_cast<std::size_t>(choice.forms), kUnknown);
      sums[{choice.site, choice.form}] += choice.flops;
    }
    for (const auto& [key, flops] : sums) places_[key.first].flops[static_cast<std::size_t>(key.second)] = flops;
  }

  /// Whether a plan of the region fits, and its predicted time: estimated by a search on one mesh, because there are
  /// many forms.
  [[nodiscard]] std::pair<bool, double> price(const plan::Region& region) {
    if (inputs_.ranks > 1) {
      const plan::FoundPlan found =
          plan::search(region, inputs_, {.copies = false, .most_meshes = 1, .tables = &tables_});
      if (!found.plan.at.empty()) return {found.fits, found.seconds};
    }
    return {true, plan::price_of(region, inputs_, nullptr).seconds};
  }

  void try_forms(Start& best) {
    std::vector<std::pair<double, int>> order;
    for (const auto& [site, place] : places_)
      order.emplace_back(-place.flops[static_cast<std::size_t>(forms_.at[site])], site);
    std::sort(order.begin(), order.end());
    std::pair<bool, double> least = price(best.region);
    int trials = kFormTrials;
    std::size_t records = kTriedRecords;
    for (const auto& [work, site] : order) {
      const int first = forms_.at[site];
      best.prices.push_back({site, first, least.first, least.second});
      for (int form = 0; form < places_[site].forms; ++form) {
        if (form == first) continue;
        if (trials == 0 || records < best.region.ops.size()) return;
        --trials;
        records -= best.region.ops.size();
        Forms other = forms_;
        other.at[site] = form;
        plan::Region region = survey(program_, other);
        const std::pair<bool, double> here = price(region);
        best.prices.push_back({site, form, here.first, here.second});
        const bool better = here.first != least.first ? here.first : here.second < least.second * (1 - 1e-9);
        if (!better) continue;
        least = here;
        best.region = std::move(region);
        forms_ = std::move(other);
      }
    }
  }

  static constexpr double kUnknown = 1e300;  ///< of a form that no survey reached

  const Recording& program_;
  const plan::PlanInputs& inputs_;
  const plan::PlanRequest& request_;
  Places places_;
  Forms forms_;
  plan::CostTables tables_;  ///< shared by all trials
};

}  // namespace

bool plans_are_wanted(const plan::PlanRequest& request, const plan::PlanInputs& inputs) {
  const bool whole = plan::plans_whole(request.schedule) && inputs.ranks > 1;
  return whole || request.always || request.use || !request.place.empty();
}

Start start_of(const Recording& program, const plan::PlanInputs& inputs, const plan::PlanRequest& request) {
  return FormChoice(program, inputs, request).run();
}

}  // namespace tdsl::record
