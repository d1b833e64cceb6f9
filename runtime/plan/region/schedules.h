#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/region/plan_price.h"
#include "runtime/plan/region/plan_search.h"

namespace tdsl::plan {

/// How a program's plan is found.
enum class Schedule : std::uint8_t {
  kAuto,    ///< the cheapest predicted of all
  kGreedy,  ///< every operation by itself, when it is recorded
};
[[nodiscard]] const char* name_of(Schedule schedule);
[[nodiscard]] std::optional<Schedule> schedule_named(std::string_view name);
/// `auto, greedy`, for messages.
[[nodiscard]] std::string schedule_names();

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
