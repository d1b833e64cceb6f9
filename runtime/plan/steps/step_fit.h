#pragma once

#include "runtime/plan/op_plan.h"
#include "runtime/plan/planner.h"

namespace tdsl::plan {

/// What a rank may hold in received boxes (or partial results) beside `owned` bytes of its own, without --window: a fifth, and at least 64 MiB.
[[nodiscard]] double received_share(double owned);

/// The most bytes of remote boxes that one step of the operation should have.
[[nodiscard]] double step_limit(const Op& op, const TensorLookup& tensors, const PlanInputs& inputs);

/// What the largest step of any rank holds beside the rank's own blocks: remote boxes, results that begin in it, and the operands that its
/// tasks copy together. It is the least --window that is legal for the operation.
[[nodiscard]] double largest_step(const Op& op, const OpPlan& plan, const TensorLookup& tensors, const PlanInputs& inputs);

/// Makes steps smaller until the largest of any rank fits `limit` bytes, or they cannot become smaller.
void fit_steps(const Op& op, OpPlan& plan, const TensorLookup& tensors, double limit, const PlanInputs& inputs);

}  // namespace tdsl::plan
