#pragma once

#include <string>

#include "tools/tdslc/command_line.h"

namespace tdsl::tools {

/// Seconds of a task of one operation, and of an exchange between two ranks here, beside kernels, messages and bytes.
struct Overheads {
  double task = 0;
  double exchange = 0;  ///< 0: not measured
  std::string trouble;  ///< why nothing, or no exchange, is measured
};

/// Builds a program of operations that compute next to nothing, and runs it on one rank and on two. `latency`: seconds
/// of a message between them.
[[nodiscard]] Overheads measure_overheads(double latency);

}  // namespace tdsl::tools
