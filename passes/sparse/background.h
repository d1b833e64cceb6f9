#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Reduces what is stored alone where the body is the same at all other points:
///
///     %2:f64 = compute [] max[i in 0..%0, j in 0..%0] (%1[i, j])
/// becomes
///     %3:i64 = compute [] sum[i in 0..%0, j in 0..%0] (1) where ne(%1[i, j], 0.0)
///     %4:f64 = compute [] max[i in 0..%0, j in 0..%0] (%1[i, j]) where ne(%1[i, j], 0.0)
///     %2:f64 = compute [] (select(lt(f64(%3[]), mul(f64(%0), f64(%0))), max(%4[], 0.0), %4[]))
///
/// The *background* is the body where the sparse operands are 0, here 0.0; it may depend on what is not reduced. It
/// counts once in `min`, `max`, `any` and `all`, and in a sum as often as there are other points, which rounds less
/// than adding it up; the identity of the reduction does not count at all. Only where the pass `storage` then
/// compresses all the operands that the guard reads: on dense ones this is more work than before.
///
/// Precondition and postcondition: verified; nothing is compressed before.
[[nodiscard]] ir::Program background(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
