#pragma once

#include <vector>

#include "ir/differentiate/compute.h"
#include "ir/graph/graph.h"

namespace tdsl::ir {

/// Replaces every Gradient by nodes that compute the derivatives, in reverse mode:
///
///     %3:f64 = compute [] sum[i in 0..%0] (mul(%1[i], %2[i]))
///     %4:f64[%0] = gradient %3 (%1)
/// becomes
///     %4:f64[%0] = compute [i in 0..%0] (%2[i])
///
/// Loops that the loss goes through may get further carried values (Note [Loops] in ir/differentiate/regions.h).
/// Gradients are expanded in program order, so a loss may depend on earlier derivatives. What has no derivative is
/// added to `problems`, one per Gradient at most; the program is then not to be used.
[[nodiscard]] Program differentiate(Program program, std::vector<NotDifferentiable>& problems);

}  // namespace tdsl::ir
