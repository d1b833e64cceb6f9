#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Updates that write every element become definitions, and updates of a constant tensor lose their base.
///
///     %3 = compute [i in 0..%0, k in 0..%1] (0.0)
///     %4 = compute [i in 0..%0, k in 0..%1] sum[j in 0..%2] (mul(%5[i, j], %6[j, k])) left [i, k] base %3 combine sum
/// becomes
///     %3 = compute [i in 0..%0, k in 0..%1] (0.0)
///     %4 = compute [i in 0..%0, k in 0..%1] sum[j in 0..%2] (mul(%5[i, j], %6[j, k]))
///
/// Likewise `combine(identity, total)` is `total` where total is a reduction by the same operator: the identity is
/// assumed, never computed (the sign of a zero sum may differ).
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program updates(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
