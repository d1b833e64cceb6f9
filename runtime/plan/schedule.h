#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace tdsl::plan
