#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Says with operators what sparse types mean for values:
///
///     %3:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (mul(%1[i, j], %2[j]))              %1 stored sparse
/// becomes
///     %3:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (absent_mul(%1[i, j], %2[j]))
///
/// Precondition: no Gradient; what is differentiated are products. Postcondition: as of ir::with_explicit_absence,
/// which does the work.
[[nodiscard]] ir::Program absence(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
