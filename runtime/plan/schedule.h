#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tdsl::plan {

/// Strategy for finding a program's plan.
enum class Schedule : std::uint8_t {
  kAuto,       ///< the cheapest predicted among all that fit in memory
  kSearch,     ///< jointly optimal layouts (region/plan_search.h)
  kEinDecomp,  ///< the same layouts, decided path by path: EinDecomp's linearisation, with exact costs
  kPattern,    ///< TensorPlanner's patterns of tasks (workflow/pattern.h)
  kLshs,       ///< NumS's simulated loads (workflow/lshs.h)
  kGreedy,     ///< every operation individually, when it is recorded
};
[[nodiscard]] const char* name_of(Schedule schedule);
[[nodiscard]] std::optional<Schedule> schedule_named(std::string_view name);
/// `auto, search, eindecomp, pattern, lshs, greedy`, for messages.
[[nodiscard]] std::string schedule_names();

}  // namespace tdsl::plan
