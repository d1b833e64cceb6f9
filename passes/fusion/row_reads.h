#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Lets loops over stored elements read dense matrices along their rows. Where a walk jumps over columns and goes
/// through all rows at each, every element it reads would lie in another cache line; it reads the transposed matrix,
/// which is made once for all walks of a region:
///
///     %4 = compute [i in 0..%0, k in 0..8] sum[j in 0..%1] (absent_mul(%2[i, j], %3[k, j]))           %2 compressed
/// becomes
///     %5 = compute [i in 0..%1, j in 0..8] (%3[j, i])
///     %4 = compute [i in 0..%0, k in 0..8] sum[j in 0..%1] (absent_mul(%2[i, j], %5[j, k]))
///
/// The copy stands in front of the loops in which the matrix does not change.
///
/// Precondition: `storage` has marked what is compressed. Postcondition: verified.
[[nodiscard]] ir::Program row_reads(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
