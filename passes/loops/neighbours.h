#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// A reduction over a few neighbours of each element becomes their combination written out: the result is element-wise
/// work that fuses, and a subscript that wraps around (`mod(i + a - 1, n)`) has one index variable, so that it reads
/// the neighbours' edges and not whatever the remainder may be.
///
///     compute [i in 0..%0] sum[a in 0..3] (%1[mod(sub(add(i, a), 1), %0)])
/// becomes
///     compute [i in 0..%0] (add(add(add(0.0, %1[mod(sub(i, 1), %0)]), %1[i]), %1[mod(add(i, 1), %0)]))
///
/// Applies to sum, prod, min and max over constant ranges whose index variables stand beside those of the result in a
/// subscript. Other reduce labels stay, where the written-out ones stand in a remainder; without a remainder nothing
/// happens then (convolutions over channels are better off in blocked kernels). Terms keep their order, the identity in
/// front.
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program neighbours(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
