#pragma once

#include "ir/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Brings operators that run over the rows of the same tensors into one loop nest, so that what one computes of a row is still in cache when
/// the next one needs it, and is never stored as a whole tensor:
///
///     %5 = compute [i in 0..%0] sum[j in 0..%1] (mul(%2[i, j], %3[j]))
///     %6 = compute [j in 0..%1] sum[i in 0..%0] (mul(%2[i, j], %5[i]))
/// becomes
///     %6 = fused [i in 0..%0] at ([0], [1]) () {
///       %5 = compute [i in 0..%0] sum[j in 0..%1] (mul(%2[i, j], %3[j]))
///       %7 = compute [j in 0..%1] sum[i in 0..%0] (mul(%2[i, j], %5[i]))
///       yield %7
///     }
///
/// It pays where a tensor as large as what is read by rows anyway is read once instead of twice, or is never stored. A value is absorbed if
/// only the nest reads it, at the shared index variable alone. Operators whose points are more than the elements of an operand (products of
/// matrices) stay: what counts for them is not how often their operands are read.
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program fuse_rows(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
