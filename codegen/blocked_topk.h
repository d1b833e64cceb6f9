#pragma once

#include "codegen/blocked.h"

namespace tdsl::codegen {

/// Whether the `k` largest of n elements can be found by blocks: those of the blocks, of which one rank picks the result,
/// are a quarter of the vector at most.
[[nodiscard]] Expr distributes_topk(const Expr& n, const Expr& k);

/// Adds the steps of topk of a vector: the k largest of up to 64 blocks each, and the k largest of these.
void add_blocked_topk(FamilyBuilder& builder, const BlockedRoutine& routine);

}  // namespace tdsl::codegen
