#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Marks the outermost loops whose whole body is work on scalars and single elements: each becomes one task, a function
/// of its own on whole tensors, instead of an operation per statement and iteration.
///
///     %9:f64[%0] "x" = for %1..%0 by 1 with (%3) do (%4:i64 "i", %5:f64[%0] "x") {
///       %8 = compute [] (add(%5[sub(%4, 1)], %2[%4])) left [%4] base %5
///       yield %8
///     }
/// becomes
///     %9:f64[%0] "x" = for %1..%0 by 1 serial with (%3) do (…) { … }
///
/// A loop of statements over whole tensors gets two forms where its sizes are known when the program runs: such a task
/// for small tensors, the statements for large ones (loop_forms.h).
///
/// What a serial loop is says ir/analysis/serial_loop.h. Loops that are not get a remark with the reason, where they
/// hold element work of their own. Precondition and postcondition: verified; the passes before it leave no loop that is
/// algebra.
[[nodiscard]] ir::Program serial_loops(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
