#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/region/plan_price.h"
#include "runtime/plan/region/plan_search.h"
#include "runtime/plan/schedule.h"

namespace tdsl::plan {

/// One way to plan a program.
struct Alternative {
  std::string name;                       ///< of the schedule that found it
  std::shared_ptr<const PlanValue> plan;  ///< null: no decisions
  PlanPrice price;
  bool fits = true;                       ///< within the memory limit, steps left out
};

/// Plans for a region, the chosen one first.
struct ProgramPlans {
  std::vector<Alternative> alternatives;
  std::string note;  ///< of the chosen one: how it was found
  std::optional<FoundPlan> found;     ///< by the search, whether it is chosen or not
  std::vector<std::string> warnings;  ///< of what was asked for and could not be had
};

/// The best of the searched plans, if there is one; how it was found is left in `plans`.
[[nodiscard]] std::optional<Alternative> searched_plan(const Region& region, const PlanInputs& inputs, const SearchOptions& options, ProgramPlans& plans);

/// The plan of a region by the schedule. A function of its arguments alone.
[[nodiscard]] ProgramPlans plan_program(const Region& region, const PlanInputs& inputs, Schedule schedule);

}  // namespace tdsl::plan
