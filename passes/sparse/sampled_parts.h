#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Computes products of a sparse matrix and a product of dense ones ahead, where an expression over all elements
/// contains them, so that `sampling` leaves the rest of the dense product out:
///
///     %6:f64[%0, %1] = compute [i in 0..%0, j in 0..%1] sum[k in 0..8] (mul(%4[i, k], %5[j, k]))
///     %7:f64[%0, %1] = compute [i in 0..%0, j in 0..%1] (add(%3[i, j], absent_mul(%2[i, j], %6[i, j])))   %2 sparse
/// becomes
///     %6:f64[%0, %1] = compute [i in 0..%0, j in 0..%1] sum[k in 0..8] (mul(%4[i, k], %5[j, k]))
///     %8:f64[%0, %1] = compute [i in 0..%0, j in 0..%1] (absent_mul(%2[i, j], %6[i, j]))
///     %7:f64[%0, %1] = compute [i in 0..%0, j in 0..%1] (add(%3[i, j], %8[i, j]))
///
/// The switch from the template Outer to Cell of Boehm et al., On Optimizing Operator Fusion Plans for Large-Scale
/// Machine Learning in SystemML (2018).
[[nodiscard]] ir::Program sampled_parts(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
