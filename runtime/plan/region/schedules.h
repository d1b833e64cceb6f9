#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/region/plan_price.h"
#include "runtime/plan/region/plan_search.h"
#include "runtime/plan/schedule.h"
#include "runtime/plan/workflow/workflow.h"

// Ways to plan a whole region, each as a plan that is priced by the planned operations.

namespace tdsl::plan {

/// One way to plan a program.
struct Alternative {
  std::string name;                       ///< of the schedule that found it
  std::shared_ptr<const PlanValue> plan;  ///< null: no decisions
  PlanPrice price;
  bool fits = true;                       ///< within the memory limit, steps left out
  std::string note{};                     ///< how it was found
};

/// Plans for a region, the chosen one first.
struct ProgramPlans {
  std::vector<Alternative> alternatives;
  std::string note;                    ///< of the chosen one: how it was found
  std::vector<std::string> left_out;   ///< schedules that give no plan, and why: `pattern: the task workflow has more than ...`
};

/// What one schedule says, priced; `most_tasks` bounds the task workflows of pattern and lshs. Throws std::runtime_error if they need more.
[[nodiscard]] Alternative plan_by(Schedule schedule, const Region& region, const PlanInputs& inputs, Index most_tasks = kWorkflowTasks);

/// Under kAuto of all schedules those with no more than so many tasks are compared: more take seconds to weigh.
inline constexpr Index kAutoTasks = 20'000;

/// The plan of a region by the schedule: kAuto compares all of them, and the cheapest that fits comes first; of those that do not fit the one
/// that holds least. A schedule that gives no plan leaves the greedy one. A function of its arguments alone.
[[nodiscard]] ProgramPlans plan_program(const Region& region, const PlanInputs& inputs, Schedule schedule);

}  // namespace tdsl::plan
