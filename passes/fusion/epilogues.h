#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Computes what follows a product of matrices, element by element, in the loops of the product: the product is never
/// stored as a tensor of its own, and its blocks are still in cache when they are turned into the result.
///
///     %5 = compute [i in 0..%0, j in 0..%2] sum[k in 0..%1] (mul(%3[i, k], %4[k, j]))
///     %6 = compute [i in 0..%0, j in 0..%2] (relu(add(%5[i, j], %7[j])))
/// becomes
///     %6 = epilogue [i in 0..%0, j in 0..%2] at ([0, 1], [0, 1]) () {
///       %5 = compute [i in 0..%0, j in 0..%2] sum[k in 0..%1] (mul(%3[i, k], %4[k, j]))
///       %8 = compute [i in 0..%0, j in 0..%2] (relu(add(%5[i, j], %7[j])))
///       yield %8
///     }
///
/// The product has one reader, of the same element type, which reads it where it is itself, and everything else at its
/// own index variables. It takes no choice: a tensor less is written and read, and the product is computed by the same
/// calls.
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program epilogues(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
