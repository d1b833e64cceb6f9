#pragma once

#include "runtime/plan/op_plan.h"
#include "runtime/plan/planner.h"

namespace tdsl::plan {

/// True if blocks are loaded for the operation, or are written out once it has made them.
[[nodiscard]] bool moves_blocks(const Op& op, const OpPlan& plan, const TensorLookup& tensors);

/// For an operation that moves blocks: the shape of super-blocks with the least predicted time, hence the fewest disk
/// bytes, among those that fit `room` bytes, if possible with the next step's pieces resident too. Panels become
/// thinner only if no shape fits.
void fit_moves(const Op& op, OpPlan& plan, const TensorLookup& tensors, double room, const PlanInputs& inputs);

}  // namespace tdsl::plan
