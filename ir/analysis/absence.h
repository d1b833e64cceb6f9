#pragma once

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// Makes the value semantics of sparse types explicit in operators, so that afterwards storage does not affect values:
/// which factors and numerators win where they are 0, that no -0 is stored in a sparse tensor, and whether `sparse(x)`
/// and `dense(x)` carry absence.
///
///     compute [i, j] (mul(%A[i, j], %D[i, j]))
///         (add(absent_mul(%A[i, j], %D[i, j]), 0.0))              into f64[n, sparse m]
///     compute [i] sum[j] (div(neg(%A[i, j]), %x[j]))
///         sum[j] (absent_div(neg(%A[i, j]), %x[j]))
///     compute [i] sum[j] (mul(dense(%A[i, j]), %x[j]))
///         sum[j] (mul(%A[i, j], %x[j]))
///
/// Implements the pass `absence`, which follows `differentiate`: no other pass and no evaluator sees the operators
/// `sparse` and `dense`, or a product with implicit semantics. Inputs contain no -0: reading a file into a sparse type
/// removes it.
[[nodiscard]] Program with_explicit_absence(Program program);

}  // namespace tdsl::ir
