#pragma once

#include <memory>
#include <vector>

#include "runtime/kernels/task.h"
#include "runtime/plan/op.h"
#include "runtime/types.h"

namespace tdsl::rt {

/// The kernel that combines partial results: reads[0] is P[c…, out…], and out gets P[0] op P[1] op … in the order of
/// the reduce labels c, independent of the arrival order of the parts. Sums of bools are not needed: partial sums are
/// integers. `pieces`: plan::Op::pieces of the operation that computed the parts.
[[nodiscard]] Kernel combine_kernel(std::shared_ptr<const plan::Op> op, plan::Combine combine, ElementType type,
                                    const std::vector<plan::PackedPiece>& pieces = {});

}  // namespace tdsl::rt
