#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Leaves to the start of the run what only sizes decide: a chain of matrix products whose best order `chain_order`
/// could not tell becomes one node, which is multiplied in the order of fewest multiplications when sizes are known.
///
///     %4 = compute [i in 0..%0, k in 0..%2] sum[j in 0..%1] (mul(%6[i, j], %7[j, k]))
///     %5 = compute [i in 0..%0, k in 0..%3] sum[j in 0..%2] (mul(%4[i, j], %8[j, k]))
/// becomes
///     %5 = chain [%0, %1, %2, %3] (%6, %7, %8)
///
/// A sum of products of three tensors or more is such a chain, in whatever order it is written, or is marked, where
/// contracting tensors two by two can be cheaper:
///
///     %5 = compute [i in 0..%0, r in 0..%3] sum[j in 0..%1, k in 0..%2] (mul(mul(%6[i, j, k], %7[j, r]), %8[k, r]))
/// becomes
///     %5 = compute in any order [i in 0..%0, r in 0..%3] sum[j in 0..%1, k in 0..%2] (mul(mul(%6[i, j, k], %7[j, r]),
///     %8[k, r]))
///
/// Loops that run as one task are left alone: they compute element by element.
/// Changes the rounding of float sums and nothing else. Precondition and postcondition: verified.
[[nodiscard]] ir::Program start_choices(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
