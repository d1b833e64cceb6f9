#pragma once

#include <string>
#include <vector>

#include "runtime/plan/region/plan_price.h"
#include "runtime/plan/region/plan_search.h"
#include "runtime/plan/schedule.h"

// Ways to plan a whole region, each as a plan that is priced by the planned operations.

namespace tdsl::plan {

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
