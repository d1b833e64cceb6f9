#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Removes computations whose results nobody uses, and unused loop-carried values.
///
///     %2 = compute [i in 0..%0] (exp(%1[i]))
///     %3 = compute [i in 0..%0] (neg(%1[i]))
///     output "y" %3
/// becomes
///     %3 = compute [i in 0..%0] (neg(%1[i]))
///     output "y" %3
///
/// Effects, size checks, dimensions, params and inputs stay. A run-time error that only a dead computation would have
/// raised is not raised. Precondition and postcondition: verified.
[[nodiscard]] ir::Program dead_code(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
