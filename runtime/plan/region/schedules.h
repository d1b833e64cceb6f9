#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/region/plan_price.h"
#include "runtime/plan/region/plan_search.h"

// Ways to plan a whole region, each as a plan that is priced by the planned operations.

namespace tdsl::plan {

enum class Schedule {
  kAuto,       ///< the cheapest of the others that fits into memory
  kSearch,     ///< the cheapest layouts together (plan_search.h)
  kEinDecomp,  ///< the same layouts, decided path after path (EinDecomp's linearisation), by exact costs
  kPattern,    ///< TensorPlanner's patterns of tasks (workflow/pattern.h)
  kLshs,       ///< NumS's simulated loads (workflow/lshs.h)
  kGreedy,     ///< every operation by itself: a plan without decisions
};
[[nodiscard]] const char* name_of(Schedule schedule);
[[nodiscard]] std::optional<Schedule> schedule_called(std::string_view name);

/// A plan with what it costs.
struct PricedPlan {
  Schedule schedule = Schedule::kGreedy;
  PlanValue plan;
  PlanPrice price;
  bool fits = true;      ///< within memory_limit
  std::string refused;   ///< why there is no plan; empty: there is one
};

struct Alternatives {
  std::vector<PricedPlan> plans;  ///< of every schedule but kAuto, in the order above
  std::size_t chosen = 0;         ///< the cheapest that fits; if none does, the one that holds least
  double limit_bytes = 0;
};

struct ScheduleOptions {
  SearchOptions search;
};

[[nodiscard]] Alternatives compare_schedules(const Region& region, const PlanInputs& inputs, const ScheduleOptions& options);

/// Throws std::runtime_error if the schedule cannot plan the region: pattern and lshs, beyond kWorkflowTasks.
[[nodiscard]] PlanValue plan_by(Schedule schedule, const Region& region, const PlanInputs& inputs, const ScheduleOptions& options);

}  // namespace tdsl::plan
