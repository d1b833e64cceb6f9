#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/schedules/schedule.h"

namespace tdsl::plan {

/// Plans for a region, the chosen one first.
struct ProgramPlans {
  std::vector<Alternative> alternatives;
  std::string note;  ///< how the chosen plan was found
  std::vector<std::string>
      left_out;  ///< schedules without a plan, and why: `pattern: the task workflow has more than ...`
  std::optional<FoundPlan> found;     ///< the search's plan, whether chosen or not
  std::vector<std::string> warnings;  ///< about requests that could not be satisfied
  std::string refused;                ///< why the requested schedule has no plan; empty: it has, and it comes first
};

/// Schedules planned in addition to the requested one: none, those that `auto` chooses from, all.
enum class Compare : std::uint8_t { kNothing, kChoices, kAll };

/// Plans a region by the schedule. Null (`auto`) compares all schedules and puts the cheapest that fits first (those
/// that place tasks only if they also receive and hold no more than the others, steps included). If none fits, the one
/// that holds least is first; if they exceed only the share that is preferred without --memory, the cheapest of those
/// that hold at most a quarter more. A requested schedule comes first whether it fits or not: whether memory suffices
/// is decided with storage on disk in view (runtime/app/run/fitting_start.h). With Compare::kAll the others follow. A
/// pure function of its arguments.
[[nodiscard]] ProgramPlans plan_program(const Region& region, const PlanInputs& inputs, const Schedule* schedule,
                                        Compare others = Compare::kNothing);

}  // namespace tdsl::plan
