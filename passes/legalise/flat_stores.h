#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Index variables that count a position together, row by row, give way to one that runs over the positions:
///
///     %5 = compute [i in 0..%0, k in 0..%1] (%3[i, k]) left [add(mul(i, %1), k)] base %4
/// becomes
///     %5 = compute [i in 0..mul(%0, %1)] (%3[div(i, %1), rem(i, %1)]) left [i] base %4
///
/// Such a subscript cannot be solved for one of them, but for all at once: every element has exactly one point. It
/// would be a scatter otherwise, for which every task looks at every point.
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program flat_stores(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
