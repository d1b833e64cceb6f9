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
/// Loops that contribute to the loss may get further carried values (Note [Loops] in ir/differentiate/regions.h).
/// Gradients are expanded in program order, so a loss may depend on earlier derivatives. Constructs without a
/// derivative are added to `problems`, at most one per Gradient; the program is then invalid.
[[nodiscard]] Program differentiate(Program program, std::vector<NotDifferentiable>& problems);

}  // namespace tdsl::ir
