#pragma once

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// Says with operators what sparse types mean for values, so that behind it storage is nothing but storage: which
/// factors and numerators win where they are 0, that no -0 is stored in a sparse tensor, and what `sparse(x)` and
/// `dense(x)` carry.
///
///     compute [i, j] (mul(%A[i, j], %D[i, j]))          (add(absent_mul(%A[i, j], %D[i, j]), 0.0))     into f64[n,
///     sparse m] compute [i] sum[j] (div(neg(%A[i, j]), %x[j]))    sum[j] (absent_div(neg(%A[i, j]), %x[j])) compute
///     [i] sum[j] (mul(dense(%A[i, j]), %x[j]))  sum[j] (mul(%A[i, j], %x[j]))
///
/// What the pass `absence` does, behind `differentiate`: no other pass and no evaluator meets the operators `sparse`
/// and `dense`, or a product that means more than it says. Inputs come from files without -0: what reads a file into a
/// sparse type sees to that.
[[nodiscard]] Program with_explicit_absence(Program program);

}  // namespace tdsl::ir
