#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Folds constants and applies identities that hold for every operand, IEEE values included: 2.0 * 3.0, x * 1.0,
/// x - 0.0, -(-x), !(a < b) and linear arithmetic on integers, select(c, x, x), reads of constant scalars. Never
/// x * 0.0 or x + 0.0, which are not identities.
///
///     %2 = compute [] (mul(2.0, 3.0))
///     %3 = compute [i in 0..%0] (mul(mul(%1[i], 1.0), %2))
/// becomes
///     %2 = compute [] (6.0)
///     %3 = compute [i in 0..%0] (mul(%1[i], 6.0))
///
/// A guard that is `true` disappears. Precondition and postcondition: verified.
[[nodiscard]] ir::Program simplify(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
