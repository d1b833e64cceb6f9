#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/region/plan_price.h"
#include "runtime/plan/region/plan_search.h"
#include "runtime/plan/schedule.h"
#include "runtime/plan/workflow/workflow.h"

// Strategies for planning a whole region, each giving a plan that is priced by its planned operations.

namespace tdsl::plan {

/// One way to plan a program.
struct Alternative {
  std::string name;                       ///< of the schedule that found it
  std::shared_ptr<const PlanValue> plan;  ///< null: no decisions
  PlanPrice price;
  double held_bytes = 0;  ///< peak on the busiest rank; under --memory including steps
  bool fits = true;       ///< within the memory limit and the window
  std::string note{};     ///< how it was found
};

/// Plans for a region, the chosen one first.
struct ProgramPlans {
  std::vector<Alternative> alternatives;
  std::string note;  ///< how the chosen plan was found
  std::vector<std::string>
      left_out;  ///< schedules without a plan, and why: `pattern: the task workflow has more than ...`
  std::optional<FoundPlan> found;     ///< the search's plan, whether chosen or not
  std::vector<std::string> warnings;  ///< about requests that could not be satisfied
  std::string refused;                ///< why the requested schedule was not chosen; empty: it was
};

/// A plan (null: every operation individually) with its predicted cost and memory.
[[nodiscard]] Alternative weigh(std::string name, std::shared_ptr<const PlanValue> plan, std::string note,
                                const Region& region, const PlanInputs& inputs);

/// The best of the searched plans, if any; `plans` receives how it was found.
[[nodiscard]] std::optional<Alternative> searched_plan(const Region& region, const PlanInputs& inputs,
                                                       const SearchOptions& options, ProgramPlans& plans);

/// The plan of one schedule, priced; `most_tasks` bounds the task workflows of pattern and lshs. Throws NoPlan if they
/// need more.
[[nodiscard]] Alternative plan_by(Schedule schedule, const Region& region, const PlanInputs& inputs,
                                  Index most_tasks = kWorkflowTasks);

/// The task workflow as scheduled by kPattern or kLshs; other schedules place no tasks (their processes are kNobody).
/// Throws NoPlan.
[[nodiscard]] Workflow scheduled_workflow(Schedule schedule, const Region& region, const PlanInputs& inputs,
                                          Index most_tasks = kWorkflowTasks);

/// Only schedules with up to this many tasks are compared with the requested one: larger ones take seconds.
inline constexpr Index kAutoTasks = 2'000;

enum class Compare : std::uint8_t { kNothing, kAll };

/// Plans a region by the schedule. kAuto compares all schedules and puts the cheapest that fits first (pattern and lshs
/// only if they also receive and hold no more than the others, steps included); if none fits, the one that holds least.
/// Falls back to the greedy plan if a schedule gives no plan, or one that does not fit while the greedy one fits or
/// holds less. With Compare::kAll the others follow the chosen one. A pure function of its arguments.
[[nodiscard]] ProgramPlans plan_program(const Region& region, const PlanInputs& inputs, Schedule schedule,
                                        Compare others = Compare::kNothing);

}  // namespace tdsl::plan
