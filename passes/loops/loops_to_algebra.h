#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Turns `for` loops whose updates are affine and independent, or combine with an associative operator, into Computes.
/// Innermost loops first; a body of several updates is split where no later iteration feeds an earlier statement;
/// branches become guards; ranges such as 0..i become a rectangle with a guard.
///
///     %5 = for %0..%1 by 1 with (%4) do (%6:i64 "i", %7:f64[%1] "y") {
///       %8 = compute [] (mul(2.0, %3[%6])) left [%6] base %7
///       yield %8
///     }
/// becomes
///     %8 = compute [i in 0..%1] (mul(2.0, %3[i])) left [i] base %4
///
/// A loop that stays gets a remark with the dependence and, if it runs element by element over a tensor and computes
/// none as a whole, the warning `[sequential-loop]`. Meaning is kept except for the rounding of re-associated float
/// sums. Precondition: verified. Postcondition: verified; best followed by `updates`.
[[nodiscard]] ir::Program loops_to_algebra(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
