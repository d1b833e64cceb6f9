#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Re-associates chains of matrix products, (A B) C into A (B C), by the classical dynamic program over scalar
/// multiplications (Godbole 1973; Cormen et al., section 14.2), where every intermediate product is used once. Sizes
/// may be symbolic: an order is better if it is for all sizes of at least 2. Where sizes decide, the chain keeps its
/// order until `start_choices` leaves it to the start of the run. A vector at the end counts as a matrix of one column.
///
///     %4 = compute [i in 0..%0, k in 0..%0] sum[j in 0..%0] (mul(%1[i, j], %2[j, k]))
///     %5 = compute [i in 0..%0] sum[k in 0..%0] (mul(%4[i, k], %3[k]))
/// becomes
///     %6 = compute [i in 0..%0] sum[k in 0..%0] (mul(%2[i, k], %3[k]))
///     %5 = compute [i in 0..%0] sum[k in 0..%0] (mul(%1[i, k], %6[k]))
///
/// Changes the rounding of float sums within the chain and nothing else.
/// Precondition: operands of products are reads (after copy_propagation). Postcondition: verified.
[[nodiscard]] ir::Program chain_order(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
