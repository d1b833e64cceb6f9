#pragma once

#include "runtime/plan/search/limits.h"

// Multipliers find only assignments that are cheapest for some price of a byte. Between two of them there may be
// cheaper ones that fit: those are a change or two away.

namespace tdsl::plan {

/// Changes one variable, or two that share a table or a point, as long as that leaves fewer forbidden entries, else
/// fewer bytes above the limits (summed over points), else less cost; until no such change is left, or about `work`
/// table entries have been read. Returns those that were.
Index improve_within(const Network& network, const MemoryLimits& limits, Assignment& x, Index work);

}  // namespace tdsl::plan
