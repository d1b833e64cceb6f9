#pragma once

#include "runtime/plan/cost/cost_model.h"

namespace tdsl::plan {

/// Bytes that the rank sends for the operation: of its own blocks, and of boxes it sends on in trees (tree.h). In
/// closed form like cost_model.h, but over all ranks at once; an interval where boxes overlap, travel again, or meet in
/// different steps.
[[nodiscard]] Range sent_bytes(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank,
                               const Machine& machine);

/// Of the bytes that the rank receives, those that come from ranks on other nodes (OpPlan::ranks_per_node); found
/// likewise.
[[nodiscard]] Range bytes_from_other_nodes(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank,
                                           const Machine& machine);

}  // namespace tdsl::plan
