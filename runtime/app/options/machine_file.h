#pragma once

#include <map>
#include <string>

#include "runtime/base/environment.h"
#include "runtime/plan/cost/machine.h"

namespace tdsl::rt {

/// Machine constants for planning: from $TDSL_MACHINE, else those `tdslc doctor` measured for this user, else the
/// built-in ones. Throws RunError if a file cannot be read or parsed.
[[nodiscard]] plan::Machine load_machine(const Environment& environment);

/// Sets the cost of a write call if the machine file does not: high if an output goes to a shared file system.
void price_writes(plan::Machine& machine, const std::map<std::string, std::string>& outputs);

}  // namespace tdsl::rt
