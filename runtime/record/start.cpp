#include "runtime/record/start.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "runtime/plan/region/plan_price.h"

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

  /// Whether a plan of a region fits, and its predicted time.
  struct Price {
    bool fits = true;
    double seconds = 0;
    std::shared_ptr<const plan::PlanValue> plan;  ///< null: operations are planned individually
    std::optional<plan::PlanPrice> parts;         ///< computed when a comparison needs it
  };

  /// Estimated by a search on one mesh, because there are many forms.
  [[nodiscard]] Price price(const plan::Region& region) {
    if (inputs_.ranks > 1) {
      plan::FoundPlan found = plan::search(region, inputs_, {.copies = false, .most_meshes = 1, .tables = &tables_});
      if (!found.plan.at.empty())
        return {found.fits, found.seconds, std::make_shared<const plan::PlanValue>(std::move(found.plan)), {}};
    }
    plan::PlanPrice parts = plan::price_of(region, inputs_, nullptr);
    const double seconds = parts.seconds;
    return {true, seconds, nullptr, std::move(parts)};
  }

  [[nodiscard]] const plan::PlanPrice& parts_of(const plan::Region& region, Price& price) const {
    if (!price.parts) price.parts = plan::price_of(region, inputs_, price.plan);
    return *price.parts;
  }

  /// Seconds of the sites that the other program has not: those of a form.
  [[nodiscard]] static double seconds_apart(const plan::PlanPrice& price, const plan::PlanPrice& other) {
    double seconds = 0;
    for (const auto& [site, part] : price.seconds_of_site) {
      if (!other.seconds_of_site.contains(site)) seconds += part;
    }
    return seconds;
  }

  [[nodiscard]] static double flops_in_products(const plan::Region& region) {
    double flops = 0;
    for (const plan::RegionOp& op : region.ops)
      flops += op.op.op_class == plan::OpClass::kContraction ? op.weight * plan::flops_of(op.op) : 0;
    return flops;
  }

  [[nodiscard]] static bool differ(double a, double b, double share) {
    return std::abs(a - b) > share * std::max(a, b);
  }

  /// True if the form of this program runs instead of the chosen one.
  [[nodiscard]] bool replaces(const plan::Region& region, Price& price, const plan::Region& chosen_region,
                              Price& chosen) const {
    constexpr double kRounding = 1e-9;
    if (price.fits != chosen.fits) return price.fits;
    const bool faster = price.seconds < chosen.seconds * (1 - kRounding);
    if (differ(price.seconds, chosen.seconds, kFormTie)) return faster;  // so do their forms
    const plan::PlanPrice &here = parts_of(region, price), &there = parts_of(chosen_region, chosen);
    if (differ(seconds_apart(here, there), seconds_apart(there, here), kFormTie)) return faster;
    if (differ(here.bytes_received, there.bytes_received, kRounding)) return here.bytes_received < there.bytes_received;
    const double products = flops_in_products(region), chosen_products = flops_in_products(chosen_region);
    if (differ(products, chosen_products, kRounding)) return products > chosen_products;
    return region.ops.size() < chosen_region.ops.size();
  }

  void try_forms(Start& best) {
    std::vector<std::pair<double, int>> order;
    for (const auto& [site, place] : places_)
      order.emplace_back(-place.flops[static_cast<std::size_t>(forms_.at[site])], site);
    std::sort(order.begin(), order.end());
    Price chosen = price(best.region);
    int trials = kFormTrials;
    std::size_t records = kTriedRecords;
    for (const auto& [work, site] : order) {
      const int first = forms_.at[site];
      best.prices.push_back({site, first, chosen.fits, chosen.seconds});
      for (int form = 0; form < places_[site].forms; ++form) {
        if (form == first) continue;
        if (trials == 0 || records < best.region.ops.size()) return;
        --trials;
        records -= best.region.ops.size();
        Forms other = forms_;
        other.at[site] = form;
        plan::Region region = survey(program_, other);
        Price here = price(region);
        best.prices.push_back({site, form, here.fits, here.seconds});
        if (!replaces(region, here, best.region, chosen)) continue;
        chosen = std::move(here);
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
