#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Brings reductions over the rows of the same tensors into one loop nest with several results, so that the rows are
/// read once for all of them, together with what only they read of these rows:
///
///     %3 = compute [] sum[i in 0..%0] (mul(%1[i], %2[i]))
///     %4 = compute [] max[i in 0..%0] (%1[i])
/// becomes
///     %3, %4 = fused [i in 0..%0] at ([0], [0]) () {
///       %5 = compute [] sum[i in 0..%0] (mul(%1[i], %2[i]))
///       %6 = compute [] max[i in 0..%0] (%1[i])
///       yield %5, %6
///     }
///
/// Members may be nests of `fuse_rows`, and sums by groups (`sum[i where a[i] == c](X[i, j])`, ir/graph/group.h), which
/// meet the one element that a row's group has; one of those becomes a nest by itself, too. Operators join that read a
/// tensor by rows which is the largest one that either of them reads, if no other operator needs the result of one and
/// makes what the other reads. The results have one type; counts among floats are counted in f64, which is exact. Where
/// one of the operators has two forms already, the merged nest does, too.
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program merge_rows(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
