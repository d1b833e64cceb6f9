#pragma once

#include <map>
#include <string>

#include "runtime/base/environment.h"
#include "runtime/plan/cost/machine.h"

namespace tdsl::rt {

/// The constants for choosing plans: those of $TDSL_MACHINE, else those `tdslc doctor` has measured for this user, else
/// the built-in ones. Throws RunError if a file cannot be read or says something else.
[[nodiscard]] plan::Machine load_machine(const Environment& environment);

/// Where the file of constants does not say what a piece costs that is written: much on the file systems that nodes
/// share, if an output goes to one.
void price_writes(plan::Machine& machine, const std::map<std::string, std::string>& outputs);

}  // namespace tdsl::rt
