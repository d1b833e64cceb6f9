#pragma once

#include <memory>
#include <vector>

#include "runtime/plan/region/plan_request.h"
#include "runtime/record/survey.h"

// Note [Forms] If a program has several equivalent forms (Control::choose), sizes decide which one runs. All sites take
// their first form in a first survey, their second in the next one, and so on, which gives the floating-point
// operations of every form. The cheapest is selected. This is the final choice under `--schedule=greedy`, and under
// `--reproducible`, where bits must not depend on the number of ranks.
//
// Otherwise predicted time decides: site by site, those with the most operations first, each alternative form is tried
// with all others fixed. The program with that form is surveyed and planned by a search on one mesh, without copies,
// and the form is kept if it is faster. At most kFormTrials are tried, fewer for large programs. Predictions for the
// operations of two forms that differ by less than kFormTie are a tie: the form with fewer received bytes runs, then
// the one with more flops in large products, then the one with fewer operations.

namespace tdsl::record {

inline constexpr int kFormTrials = 16;
inline constexpr double kFormTie = 0.05;
/// Limit on the records surveyed and planned for comparing forms, over all trials.
inline constexpr std::size_t kTriedRecords = 4096;

/// Prediction for the program with one form at a site and the best forms so far at all others.
struct FormPrice {
  int site = 0;
  int form = 0;
  bool fits = true;  ///< under the memory limit
  double seconds = 0;
};

/// Everything determined about a program before it runs.
struct Start {
  plan::Region region;                          ///< with the selected forms
  plan::ProgramPlans plans;                     ///< requested plans of the region; empty if none are wanted
  std::shared_ptr<const plan::PlanValue> plan;  ///< layouts and forms to follow; null: no decisions
  std::vector<FormPrice> prices;                ///< of the tried forms
  plan::PlanValue saved;  ///< the same, for --save-plan; without decisions if every operation is planned individually
};

/// True if the program is planned as a whole.
[[nodiscard]] bool plans_are_wanted(const plan::PlanRequest& request, const plan::PlanInputs& inputs);

/// Surveys the program, chooses its forms (a plan file may prescribe them) and plans it. A pure function of its
/// arguments. Throws rt::RunError (usage) if a request cannot be satisfied.
[[nodiscard]] Start start_of(const Recording& program, const plan::PlanInputs& inputs,
                             const plan::PlanRequest& request);

}  // namespace tdsl::record
