#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Replaces derivatives by the nodes that compute them, in reverse mode:
///
///     %3:f64 = compute [] sum[i in 0..%0] (mul(%1[i], %2[i]))
///     %4:f64[%0] = gradient %3 (%1)
/// becomes
///     %4:f64[%0] = compute [i in 0..%0] (%2[i])
///
/// Postcondition: no Gradient, or context.failed(), because something on the way to a loss has no derivative.
/// The work is done by ir/differentiate.
[[nodiscard]] ir::Program differentiate(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
