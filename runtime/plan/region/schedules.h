#pragma once

#include <memory>
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
};

/// The plan of a region by the schedule. A function of its arguments alone.
[[nodiscard]] ProgramPlans plan_program(const Region& region, const PlanInputs& inputs, Schedule schedule);

}  // namespace tdsl::plan
