#pragma once

#include "ir/graph/graph.h"
#include "passes/legalise/computes.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Reductions whose elements begin as the identity, or as the base where they are combined with it by the same
/// operator, so that partial results can always be combined. Whatever else is done with the reduced value is done by a
/// second node:
///
///     %4 = compute [i in 0..%0] sum[j in 0..%1] (%2[i, j]) left [i] base %3 combine max
/// becomes
///     %5 = compute [i in 0..%0] sum[j in 0..%1] (%2[i, j])
///     %4 = compute [i in 0..%0] (%5[i]) left [i] base %3 combine max
///
/// argmin and argmax outside of nests of operators are the optimum and the smallest index that has it. Both can be cut
/// into any parts:
///
///     %3 = compute [i in 0..%0] argmin[j in 0..%1] (%2[i, j])
/// becomes
///     %4 = compute [i in 0..%0] min[j in 0..%1] (%2[i, j])
///     %5 = compute [i in 0..%0] min[j in 0..%1] (j) where or(eq(%2[i, j], %4[i]), and(is_nan(%2[i, j]),
///     is_nan(%4[i]))) %3 = compute [i in 0..%0] (select(eq(%5[i], 9223372036854775807), -1, %5[i]))
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program reductions(const ir::Program& program, PassContext& context);

/// Computes the reduced value in front of the node, which does the rest.
void split_reduction(Legalised& one);

}  // namespace tdsl::passes
