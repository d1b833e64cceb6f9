#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Reads through copies. A copy of a whole tensor is replaced by the tensor; a transpose, slice or other affine view is
/// read through its map wherever the subscripts are known to be in bounds.
///
///     %2 = compute [i in 0..%0, j in 0..%0] (%1[j, i])
///     %3 = compute [i in 0..%0, k in 0..%0] sum[j in 0..%0] (mul(%2[i, j], %1[j, k]))
/// becomes (with dead_code)
///     %3 = compute [i in 0..%0, k in 0..%0] sum[j in 0..%0] (mul(%1[j, i], %1[j, k]))
///
/// Copies between different storage stay. Precondition and postcondition: verified.
[[nodiscard]] ir::Program copy_propagation(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
