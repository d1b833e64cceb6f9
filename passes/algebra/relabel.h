#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// A reduction of which nothing but a copy is used, in another order or shape, is computed in that order and shape.
///
///     %3 = compute [i in 0..%0, j in 0..%1] sum[k in 0..%2] (%1[i, k] * %2[k, j])
///     %4 = compute [j in 0..%1, i in 0..%0] (%3[i, j])
/// becomes
///     %4 = compute [j in 0..%1, i in 0..%0] sum[k in 0..%2] (%1[i, k] * %2[k, j])
///
/// So products between reshapes are seen as products. Precondition and postcondition: verified.
[[nodiscard]] ir::Program relabel(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
