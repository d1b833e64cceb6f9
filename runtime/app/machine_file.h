#pragma once

#include "runtime/app/environment.h"
#include "runtime/plan/cost/machine.h"

namespace tdsl::rt {

/// The constants for choosing plans: those of $TDSL_MACHINE, else those `tdslc doctor` has measured for this user, else the
/// built-in ones. Throws RunError if a file cannot be read or says something else.
[[nodiscard]] plan::Machine load_machine(const Environment& environment);

}  // namespace tdsl::rt
