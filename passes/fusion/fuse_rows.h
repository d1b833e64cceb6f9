#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Brings operators that run over the rows of the same tensors into one loop nest, so that what one computes of a row
/// is still in cache when the next one needs it, and is never stored as a whole tensor:
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
/// It pays where a tensor as large as what is read by rows anyway is read once instead of twice, or is never stored. A
/// value is absorbed if only the nest reads it, at the shared index variables alone. Operators whose points are more
/// than the elements of an operand (products of matrices) join if what they make is reduced in the nest, or is made of
/// what the nest makes. Their other operand is needed whole by every task, which costs more than it saves where it is
/// large: unless it is known to be small the nest and its operators become the two forms of a `choose`.
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program fuse_rows(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
