#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Decides for element-wise values that several operators read whether they are stored or computed again in the loops
/// of each. All operators that such values connect are one partition (fusion/enumerate.h), of which the cheapest
/// assignment is taken; all of them run over the same points, so that sizes do not matter.
///
///     %2 = compute [i in 0..%0] (sub(%1[i], 1.0))
///     %3 = compute [] sum[i in 0..%0] (mul(%2[i], %2[i]))
///     %4 = compute [] max[i in 0..%0] (abs(%2[i]))
/// becomes
///     %3 = compute [] sum[i in 0..%0] (mul(sub(%1[i], 1.0), sub(%1[i], 1.0)))
///     %4 = compute [] max[i in 0..%0] (abs(sub(%1[i], 1.0)))
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program shared_maps(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
