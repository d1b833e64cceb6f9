#pragma once

#include <string>

namespace tdsl::tools {

/// Overhead in seconds of a task with one operation, and of an exchange between two local ranks, excluding kernels,
/// messages and bytes.
struct Overheads {
  double task = 0;
  double exchange = 0;  ///< 0: not measured
  std::string trouble;  ///< why nothing, or no exchange, could be measured
};

/// Builds a program with nearly empty operations, and runs it on one and two ranks. `latency`: seconds of a message
/// between them.
[[nodiscard]] Overheads measure_overheads(double latency);

/// Seconds until a thread that sleeps runs after another has woken it.
[[nodiscard]] double measure_wake_up();

}  // namespace tdsl::tools
