#pragma once

#include <cstddef>

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

// Matrices that are computed with rows and columns exchanged, so that their elements come in the order of their use.

namespace tdsl::passes {

/// Exchanges the dimensions of the matrix that node `k`, a Compute without store subscripts, computes, and the
/// subscripts of its reads in the region. Twice is the identity.
void exchange_dimensions(ir::Program& program, ir::Region& region, std::size_t k);
/// Names the matrix after its transpose: `S` becomes `S'`, and `(X * S)'` becomes `(X * S)`.
void name_exchanged(ir::Program& program, ir::ValueId v);

/// Computes element-wise matrices of sparse type that only reductions with dense results read in the order of their
/// sparse operands, if all of these are read transposed: `(X * S)' @ U` reads no transposed X.
///
///     %4:f64[sparse %1, %0] = compute [i in 0..%1, j in 0..%0] (absent_mul(%2[j, i], %3[j, i]))
///     %6 = compute [i in 0..%1, j in 0..8] sum[k in 0..%0] (absent_mul(%4[i, k], %5[k, j]))
/// becomes
///     %4:f64[%0, sparse %1] = compute [i in 0..%0, j in 0..%1] (absent_mul(%2[i, j], %3[i, j]))
///     %6 = compute [i in 0..%1, j in 0..8] sum[k in 0..%0] (absent_mul(%4[k, i], %5[k, j]))
[[nodiscard]] ir::Program exchanged_maps(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
