#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// One spelling for computations that differ only by spelling: operands of commutative operators in a fixed order,
/// a > b as b < a, index variables in order of appearance, values numbered in order of definition. Names play no part.
/// Exact: only operands of one operator change places. Reduce labels are reordered for sum, prod, min, max, any and
/// all, whose combination is free up to rounding.
///
///     %7 = compute [i in 0..%0, k in 0..%1] sum[j in 0..%2] (mul(%5[j, k], %4[i, j]))
/// becomes
///     %5 = compute [i in 0..%0, k in 0..%1] sum[j in 0..%2] (mul(%3[i, j], %4[j, k]))
///
/// Precondition and postcondition: verified. Unused entries of Program::values disappear.
[[nodiscard]] ir::Program canonicalise(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
