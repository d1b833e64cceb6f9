#pragma once

#include <string>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// The run's message for a failed assertion of the program.
[[nodiscard]] inline std::string failure_text(const Assert& assertion) {
  if (assertion.implied) return assertion.message + " [assertion]";
  return (assertion.message.empty() ? "assertion failed" : "assertion failed: " + assertion.message) + " [assertion]";
}

}  // namespace tdsl::ir
