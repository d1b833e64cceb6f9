#pragma once

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/op_plan.h"
#include "runtime/plan/planner.h"

namespace tdsl::plan {

/// What a rank may hold in received boxes (or partial results) beside `owned` bytes of its own, without --window: a
/// fifth, and at least 64 MiB.
[[nodiscard]] double received_share(double owned);

/// The most bytes of remote boxes that one step of the operation should have.
[[nodiscard]] double step_limit(const Op& op, const TensorLookup& tensors, const PlanInputs& inputs);

/// What the largest step of any rank holds beside the rank's own blocks: remote boxes, results that begin in it, and
/// the operands that its tasks copy together. It is the least --window that is legal for the operation.
[[nodiscard]] double largest_step(const Op& op, const OpPlan& plan, const TensorLookup& tensors,
                                  const PlanInputs& inputs);

/// The most received bytes that the operation holds on a rank: those of a step. Of a tensor that is read at two places,
/// as in A @ A, what one panel has received may stay for later ones of its super-block: all that is received, but what
/// several super-blocks receive counts once. `cost`: of the rank.
[[nodiscard]] Estimate received_at_once(const Op& op, const OpPlan& plan, const Cost& cost, const TensorLookup& tensors,
                                        Index rank, const PlanInputs& inputs);

/// Makes steps smaller until the largest of any rank fits `limit` bytes, or they cannot become smaller.
void fit_steps(const Op& op, OpPlan& plan, const TensorLookup& tensors, double limit, const PlanInputs& inputs);

}  // namespace tdsl::plan
