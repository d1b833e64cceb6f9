#pragma once

#include <memory>
#include <optional>
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
  double held_bytes = 0;  ///< of the busiest rank where they are most; under --memory with steps
  bool fits = true;       ///< within the memory limit and the window
  std::string note{};     ///< how it was found
};

/// Plans for a region, the chosen one first.
struct ProgramPlans {
  std::vector<Alternative> alternatives;
  std::string note;  ///< of the chosen one: how it was found
  std::vector<std::string>
      left_out;  ///< schedules that give no plan, and why: `pattern: the task workflow has more than ...`
  std::optional<FoundPlan> found;     ///< by the search, whether it is chosen or not
  std::vector<std::string> warnings;  ///< of what was asked for and could not be had
  std::string refused;                ///< why the schedule that was asked for is not the chosen one; empty: it is
};

/// A plan (null: every operation by itself) with what it costs and holds.
[[nodiscard]] Alternative weigh(std::string name, std::shared_ptr<const PlanValue> plan, std::string note,
                                const Region& region, const PlanInputs& inputs);

/// The best of the searched plans, if there is one; how it was found is left in `plans`.
[[nodiscard]] std::optional<Alternative> searched_plan(const Region& region, const PlanInputs& inputs,
                                                       const SearchOptions& options, ProgramPlans& plans);

/// What one schedule says, priced; `most_tasks` bounds the task workflows of pattern and lshs. Throws NoPlan if they
/// need more.
[[nodiscard]] Alternative plan_by(Schedule schedule, const Region& region, const PlanInputs& inputs,
                                  Index most_tasks = kWorkflowTasks);

/// The task workflow as kPattern or kLshs schedules it; others place no tasks (their processes are kNobody). Throws
/// NoPlan.
[[nodiscard]] Workflow scheduled_workflow(Schedule schedule, const Region& region, const PlanInputs& inputs,
                                          Index most_tasks = kWorkflowTasks);

/// Of all schedules those with no more than this many tasks are weighed beside the one that was asked for: more take
/// seconds.
inline constexpr Index kAutoTasks = 2'000;

enum class Compare : std::uint8_t { kNothing, kAll };

/// The plan of a region by the schedule: kAuto compares all of them, and the cheapest that fits comes first (of
/// pattern and lshs only what also receives and holds no more than the others, steps included); of those that do not
/// fit the one that holds least. A schedule that gives no plan, or one that does not fit while the greedy one does or
/// holds less, leaves the greedy one. With Compare::kAll the others are there behind the chosen one. A function of its
/// arguments alone.
[[nodiscard]] ProgramPlans plan_program(const Region& region, const PlanInputs& inputs, Schedule schedule,
                                        Compare others = Compare::kNothing);

}  // namespace tdsl::plan
