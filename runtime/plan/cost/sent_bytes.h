#pragma once

#include "runtime/plan/cost/cost_model.h"

namespace tdsl::plan {

/// Bytes that the rank sends for the operation: its own blocks, and boxes it forwards in trees (tree.h). In closed form
/// like cost_model.h, but over all ranks at once; an interval if boxes overlap, are sent repeatedly, or are fetched in
/// different steps.
[[nodiscard]] Range sent_bytes(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank,
                               const Machine& machine);

/// The part of the received bytes that comes from ranks on other nodes (OpPlan::ranks_per_node); computed likewise.
[[nodiscard]] Range bytes_from_other_nodes(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank,
                                           const Machine& machine);

}  // namespace tdsl::plan
