#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Computes a dense matrix only where a compressed one has elements, if nothing reads it elsewhere ("sampled"
/// products):
///
///     %4:f64[%0, %0] = compute [i in 0..%0, j in 0..%0] sum[k in 0..8] (mul(%2[i, k], %3[j, k]))
///     %5:f64 = compute [] sum[i in 0..%0, j in 0..%0] (absent_mul(%1[i, j], log(%4[i, j])))
/// becomes
///     %4:f64[%0, sparse %0] compressed = compute [i in 0..%0, j in 0..%0] sum[k in 0..8] (mul(%2[i, k], %3[j, k]))
///     where ne(%1[i, j], 0.0) %5:f64 = compute [] sum[i in 0..%0, j in 0..%0] (absent_mul(%1[i, j], log(%4[i, j])))
///
/// All its readers walk the same matrix and read it at the row and column walked. Where that matrix holds 0, their
/// values are 0 whatever they read, so the 0 that is found there changes nothing. Types do not say values any more
/// behind `absence`, so this one may change.
///
/// Precondition: `storage` has marked what is compressed. Postcondition: verified.
[[nodiscard]] ir::Program sampling(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
