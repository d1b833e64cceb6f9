#pragma once

#include <memory>
#include <vector>

#include "runtime/plan/region/plan_request.h"
#include "runtime/record/survey.h"

// Note [Forms]
// Where a program has several forms with equal results (Control::choose), sizes decide which one runs. All places take
// their first form in a first survey, their second in the next one, and so on: that gives the floating-point operations
// of every form. The one with the fewest is taken. That is all under `--schedule=greedy`, and under `--reproducible`,
// where bits must not depend on ranks.
//
// Else predicted seconds decide: place by place, those with the most operations first, each other form is tried while
// the others stay as they are. The program with it is surveyed and searched for a plan on one mesh, without copies, and
// the form is kept if that is faster. At most kFormTrials are tried, fewer of large programs.

namespace tdsl::record {

inline constexpr int kFormTrials = 16;
/// Records that are surveyed and planned for the sake of forms, all trials together.
inline constexpr std::size_t kTriedRecords = 4096;

/// What is predicted of the program with one form at a place, and with those that were the best so far everywhere else.
struct FormPrice {
  int site = 0;
  int form = 0;
  bool fits = true;  ///< under the memory limit
  double seconds = 0;
};

/// What is found out about a program before it runs.
struct Start {
  plan::Region region;                          ///< with the forms that were chosen
  plan::ProgramPlans plans;                     ///< for the region, as requested; none where they are not wanted
  std::shared_ptr<const plan::PlanValue> plan;  ///< to be followed: layouts and forms; null: nothing was decided
  std::vector<FormPrice> prices;                ///< of the forms that were tried
  plan::PlanValue saved;  ///< the same, for --save-plan; without decisions if every operation is planned by itself
};

/// Whether the program is planned as a whole.
[[nodiscard]] bool plans_are_wanted(const plan::PlanRequest& request, const plan::PlanInputs& inputs);

/// Surveys the program, chooses among its forms (a plan file says which) and plans it. A function of its arguments
/// alone. Throws rt::RunError (usage) for what cannot be had.
[[nodiscard]] Start start_of(const Recording& program, const plan::PlanInputs& inputs,
                             const plan::PlanRequest& request);

}  // namespace tdsl::record
