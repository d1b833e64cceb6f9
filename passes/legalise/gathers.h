#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Lookups, reads at subscripts that are data, in operations of their own, but for one that its operation can do: that
/// becomes a reduction over the panels of what is read. So no rank holds a looked-up tensor whole.
///
///     %5 = compute [i in 0..%0] (add(%1[%3[i]], %2[%4[i]]))
/// becomes
///     %6 = compute [i in 0..%0] (%1[%3[i]])
///     %5 = compute [i in 0..%0] (add(%6[i], %2[%4[i]]))
///
/// A guard's lookups come first, since what is read under the guard is gathered under it too:
///
///     %5 = compute [i in 0..%0] (%1[%3[i]]) where gt(%2[%4[i]], 0.0)
/// becomes
///     %6 = compute [i in 0..%0] (%2[%4[i]])
///     %7 = compute [i in 0..%0] (%1[%3[i]]) where gt(%6[i], 0.0) fill -inf
///     %5 = compute [i in 0..%0] (%7[i]) where gt(%6[i], 0.0)
///
/// Left as they are: reads of small tensors, reads behind a condition of their expression, and those for which a
/// reduction would have to be spread out.
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program gathers(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
