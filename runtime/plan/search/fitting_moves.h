#pragma once

#include "runtime/plan/search/limits.h"

// Multipliers find only assignments that are cheapest for some price per byte. Cheaper feasible ones may exist in
// between: those are one or two changes away.

namespace tdsl::plan {

/// Changes one variable, or two that share a table or a point, as long as that reduces the forbidden entries, else the
/// bytes above the limits (summed over points), else the cost; until there is no such change, or about `work` table
/// entries have been read. Returns the number read.
Index improve_within(const Network& network, const MemoryLimits& limits, Assignment& x, Index work);

}  // namespace tdsl::plan
