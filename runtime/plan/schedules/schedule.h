#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/region/plan_price.h"
#include "runtime/plan/region/plan_search.h"
#include "runtime/plan/workflow/workflow.h"

// Strategies for planning a whole region. `--schedule`, its help, comparisons and messages follow from all_schedules().

namespace tdsl::plan {

/// A plan of a region, priced by its planned operations.
struct Alternative {
  std::string name;                       ///< of the schedule that found it
  std::shared_ptr<const PlanValue> plan;  ///< null: no decisions
  PlanPrice price;
  double held_bytes = 0;  ///< peak on the busiest rank; under --memory including steps
  bool fits = true;       ///< within the memory limit and the window
  std::string note{};     ///< how it was found
};

/// Blocks of a task workflow.
struct BlockRequest {
  Index most_tasks = kWorkflowTasks;  ///< limit of the workflow
  Index per_rank = 1;                 ///< approximate number of a source's blocks per rank, without --tile
};

/// A region to plan, and results that schedules share.
struct Planning {
  const Region& region;
  const PlanInputs& inputs;
  bool asked = true;  ///< the schedule was requested, not only compared: it adapts its blocks to the limits
  std::optional<FoundPlan> searched{};
};

/// A strategy for planning a region: exactly one of the two functions is set. Both throw NoPlan with the reason if the
/// schedule cannot be applied.
struct Schedule {
  const char* name;
  const char* note;  ///< how it finds a plan
  /// The priced plan; nothing if there is none.
  std::optional<Alternative> (*plan)(Planning& planning);
  /// The task workflow with a rank for every task: the schedule places tasks instead of layouts.
  Workflow (*workflow)(const Region& region, const PlanInputs& inputs, const BlockRequest& blocks) = nullptr;
  bool whole = true;      ///< plans the whole program before it runs, under cuts that depend on ranks
  bool baseline = false;  ///< of a paper, for comparison: `auto` does not take it
};

/// The schedules; a null pointer to a schedule denotes `auto`, the best of all.
namespace schedules {
extern const Schedule kSearch;     ///< jointly optimal layouts (region/plan_search.h)
extern const Schedule kEinDecomp;  ///< EinDecomp's partition vectors by its own costs (einsum_costs.h)
extern const Schedule kSqrt;       ///< EinDecomp's baseline: every label cut into as many parts
extern const Schedule kPattern;    ///< TensorPlanner's patterns of tasks (pattern.h)
extern const Schedule kLshs;       ///< NumS's simulated loads (lshs.h)
extern const Schedule kGreedy;     ///< every operation individually, when it is recorded
}  // namespace schedules

/// In the order in which they run and are compared.
[[nodiscard]] std::span<const Schedule* const> all_schedules();
/// The schedule's name; `auto` for null.
[[nodiscard]] inline const char* name_of(const Schedule* schedule) {
  return schedule == nullptr ? "auto" : schedule->name;
}
/// Null if none has this name.
[[nodiscard]] const Schedule* schedule_named(std::string_view name);
/// `auto, search, …, greedy`, for messages.
[[nodiscard]] std::string schedule_names();
/// True for `auto` and for schedules that plan the whole program.
[[nodiscard]] inline bool plans_whole(const Schedule* schedule) { return schedule == nullptr || schedule->whole; }

/// Bytes by which a plan exceeds --memory, or its largest step --window; 0 if it fits or neither is given. A rank's
/// share (memory_limit) is a preference among plans, not a limit.
[[nodiscard]] double excess_of(const Alternative& plan, const PlanInputs& inputs);

/// A plan (null: every operation individually) with its predicted cost and memory.
[[nodiscard]] Alternative weigh(std::string name, std::shared_ptr<const PlanValue> plan, std::string note,
                                const Region& region, const PlanInputs& inputs);
/// The same for a plan that a schedule found; a plan without decisions becomes null.
[[nodiscard]] Alternative weigh(const Schedule& schedule, std::optional<PlanValue> plan, const Planning& planning);
/// The schedule's priced plan; nothing if there is none. A requested schedule of tasks cuts sources into smaller blocks
/// while its plan exceeds --memory or --window. Throws NoPlan.
[[nodiscard]] std::optional<Alternative> found_by(const Schedule& schedule, Planning& planning);

/// The index of the fastest plan. Among those within 1 % of the fastest, the one that receives least wins, then the one
/// that holds least. `prices.size()` if there are none.
[[nodiscard]] std::size_t fastest_of(const std::vector<PlanPrice>& prices);

/// The best of the plans found by the search, if any; `searched` receives the search's result for it.
[[nodiscard]] std::optional<Alternative> searched_plan(const Region& region, const PlanInputs& inputs, MeshPlans meshes,
                                                       std::optional<FoundPlan>& searched);

/// The plan of one schedule, priced; without decisions if there is none. Throws NoPlan.
[[nodiscard]] Alternative plan_by(const Schedule& schedule, Planning& planning);
[[nodiscard]] Alternative plan_by(const Schedule& schedule, const Region& region, const PlanInputs& inputs);

/// The task workflow with the schedule's ranks, in the blocks of its plan; without ranks (kNobody) if the schedule
/// places no tasks. Throws NoPlan.
[[nodiscard]] Workflow scheduled_workflow(const Schedule* schedule, const Region& region, const PlanInputs& inputs);

}  // namespace tdsl::plan
