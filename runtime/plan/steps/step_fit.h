#pragma once

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/op_plan.h"
#include "runtime/plan/planner.h"

namespace tdsl::plan {

/// Bytes of received boxes (or partial results) a rank may hold in addition to `owned` bytes of its own, without
/// --window: a fifth, and at least 64 MiB.
[[nodiscard]] double received_share(double owned);

/// Limit on the bytes of remote boxes in one step of the operation.
[[nodiscard]] double step_limit(const Op& op, const TensorLookup& tensors, const PlanInputs& inputs);

/// The bytes that the largest step of any rank holds in addition to the rank's own blocks: remote boxes, results that
/// begin in it, and operands that its tasks assemble. The smallest legal --window for the operation.
[[nodiscard]] double largest_step(const Op& op, const OpPlan& plan, const TensorLookup& tensors,
                                  const PlanInputs& inputs);

/// The most received bytes that the operation holds on a rank at once: those of a step. If a tensor is read through two
/// accesses, as in A @ A, data received by one panel may be kept for later panels of its super-block: then all received
/// bytes, with those received by several super-blocks counted once. `cost`: of the rank.
[[nodiscard]] Estimate received_at_once(const Op& op, const OpPlan& plan, const Cost& cost, const TensorLookup& tensors,
                                        Index rank, const PlanInputs& inputs);

/// Shrinks steps until the largest of any rank fits `limit` bytes, or they cannot shrink further. Keeps
/// operands over super-blocks where ranks receive fewer bytes that way.
void fit_steps(const Op& op, OpPlan& plan, const TensorLookup& tensors, double limit, const PlanInputs& inputs);

}  // namespace tdsl::plan
