#pragma once

#include <functional>

#include "runtime/plan/op_plan.h"
#include "runtime/plan/planner.h"

namespace tdsl::plan {

/// Whether blocks are loaded for the operation, or leave memory when it has made them.
[[nodiscard]] bool moves_blocks(const Op& op, const OpPlan& plan, const TensorLookup& tensors);

/// Of an operation that moves blocks: the shape of super-blocks with the least predicted seconds, hence the fewest
/// bytes to and from the disk, of those that fit `room` bytes, if possible with the next step's pieces beside them.
/// Panels become thinner only where no shape fits.
void fit_moves(const Op& op, OpPlan& plan, const TensorLookup& tensors, double room, const PlanInputs& inputs);

}  // namespace tdsl::plan
