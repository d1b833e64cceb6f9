#pragma once

#include <string>

#include "runtime/plan/value/plan_value.h"
#include "runtime/plan/workflow/workflow.h"

namespace tdsl::plan {

/// A scheduled workflow as a plan: every site as the heaviest of its operations, of equals the last. Results lie where
/// the tasks that give their blocks ran; dealt out in turn if that says it, else by a table. Applies that ran elsewhere
/// make partial results: each reduce label is cut into the fewest equal runs of blocks that have one process each, and
/// a table says who computes which part of which block. Parts meet where the result lies, all at once: not pairwise, as
/// a schedule may have it.
[[nodiscard]] PlanValue plan_of(const Region& region, const PlanInputs& inputs, const Workflow& workflow,
                                std::string schedule);

}  // namespace tdsl::plan
