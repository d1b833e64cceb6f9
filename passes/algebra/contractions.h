#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Sums of products of two expressions become products of two tensors, which run as products of matrices: what is
/// computed per element of an operand is computed ahead, once an element. Factors of a term are regrouped for that,
/// which changes nothing but the rounding, overflow and underflow.
///
///     %4 = compute [i in 0..d, j in 0..d] sum[k in 0..n] (mul(sub(%1[k, i], %2[i]), sub(%1[k, j], %2[j])))
/// becomes
///     %5 = compute [k in 0..n, i in 0..d] (sub(%1[k, i], %2[i]))
///     %6 = compute [k in 0..n, j in 0..d] (sub(%1[k, j], %2[j]))
///     %4 = compute [i in 0..d, j in 0..d] sum[k in 0..n] (mul(%5[k, i], %6[k, j]))
///
/// Sums of products of plain tensors, three or more, are left to `start_choices`. A guard that compares index variables
/// of the result, but for equality, moves behind the product if nothing is read outside of a tensor then. Precondition
/// and postcondition: verified.
[[nodiscard]] ir::Program contractions(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
