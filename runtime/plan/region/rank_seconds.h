#pragma once

#include <memory>

#include "runtime/plan/planner.h"
#include "runtime/plan/region/region.h"
#include "runtime/plan/value/plan_value.h"

namespace tdsl::plan {

/// The predicted seconds of one rank for all operations of the region, weighted by execution count, planned by `inputs`
/// and `plan` (null: individually).
[[nodiscard]] double seconds_on(const Region& region, const PlanInputs& inputs,
                                const std::shared_ptr<const PlanValue>& plan, Index rank);

}  // namespace tdsl::plan
