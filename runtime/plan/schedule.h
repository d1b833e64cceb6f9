#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tdsl::plan {

/// How a program's plan is found.
enum class Schedule : std::uint8_t {
  kAuto,       ///< the cheapest predicted of all that fit into memory
  kSearch,     ///< the cheapest layouts together (region/plan_search.h)
  kEinDecomp,  ///< the same layouts, decided path after path: EinDecomp's linearisation, by exact costs
  kPattern,    ///< TensorPlanner's patterns of tasks (workflow/pattern.h)
  kLshs,       ///< NumS's simulated loads (workflow/lshs.h)
  kGreedy,     ///< every operation by itself, when it is recorded
};
[[nodiscard]] const char* name_of(Schedule schedule);
[[nodiscard]] std::optional<Schedule> schedule_named(std::string_view name);
/// `auto, search, eindecomp, pattern, lshs, greedy`, for messages.
[[nodiscard]] std::string schedule_names();

}  // namespace tdsl::plan
