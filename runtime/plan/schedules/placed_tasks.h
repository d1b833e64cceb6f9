#pragma once

#include <string>

#include "runtime/plan/value/plan_value.h"
#include "runtime/plan/workflow/workflow.h"

namespace tdsl::plan {

/// A scheduled workflow as a plan: every site follows the heaviest of its operations, the last among equals. Results
/// are placed where the tasks that create their blocks ran; as a cyclic map if possible, else by an owner table.
/// Applies that ran elsewhere compute partial results: each reduce label is split into the fewest equal runs of blocks
/// with a single process each, and a table assigns the parts of blocks. Parts are combined at the result's owner, all
/// at once, not pairwise as in some schedules.
[[nodiscard]] PlanValue plan_of(const Region& region, const PlanInputs& inputs, const Workflow& workflow,
                                std::string schedule);

}  // namespace tdsl::plan
