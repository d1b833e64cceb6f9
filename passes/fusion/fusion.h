#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Inlines an element-wise producer into its only consumer in the same region, where every element is still computed
/// exactly once: the consumer reads it at a permutation of all its index variables. So element-wise chains and
/// reductions over them become one Compute; operands of contractions, which are read many times, stay.
///
///     %2 = compute [i in 0..%0] (exp(%1[i]))
///     %3 = compute [i in 0..%0] (mul(2.0, %2[i]))
/// becomes
///     %3 = compute [i in 0..%0] (mul(2.0, exp(%1[i])))
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program fusion(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
