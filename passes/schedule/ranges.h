#pragma once

#include "passes/schedule/points.h"
#include "passes/schedule/scop.h"

namespace tdsl::passes {

/// Sets `lowest` and `values` of loops.
void measure(Scop& scop, const Resolve& resolve);

/// Gives arrays whose extents change the extents of all iterations: `t[k]` of `t: f64[n - i]`, computed for k in i..n,
/// becomes `t[i + k]` of `t: f64[n]`. Elements that an iteration does not compute are never read. False if the largest
/// extents are unknown. `measure` comes first.
[[nodiscard]] bool widen_arrays(Scop& scop, const Resolve& resolve);

}  // namespace tdsl::passes
