#pragma once

#include <string>
#include <string_view>

namespace tdsl::plan {

/// Machine constants; all ranks plan with those of rank 0. Statistics name them.
struct Machine {
  double latency = 2e-6;            ///< seconds per message
  double bandwidth = 3e9;           ///< bytes per second and rank
  double flop_rate = 3e10;          ///< floating-point operations per second and thread, BLAS
  double stream_rate = 8e9;         ///< bytes per second and thread
  double task_overhead = 5e-6;      ///< seconds per task
  friend bool operator==(const Machine&, const Machine&) = default;
};

/// The text of a file of constants: a line `name = value` each, `#` begins a comment. Exact: reading it back gives equal numbers.
[[nodiscard]] std::string machine_text(const Machine& machine);
/// Reads such a text; constants it does not name keep their built-in values. Throws std::runtime_error with the line's number for
/// an unknown name or a value that is no positive finite number.
[[nodiscard]] Machine parse_machine(std::string_view text);

}  // namespace tdsl::plan
