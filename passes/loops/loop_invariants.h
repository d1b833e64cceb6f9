#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Moves what does not change in a loop in front of it: Computes that cannot stop the run, and comparisons of sizes,
/// which the language makes as soon as both are known.
///
///     %6 = for %0..%1 by 1 with (%2) do (%3:i64, %4:f64[%1]) {
///       %5 = compute [i in 0..%1] (exp(%7[i]))
///       …
/// becomes
///     %5 = compute [i in 0..%1] (exp(%7[i]))
///     %6 = for %0..%1 by 1 with (%2) do (%3:i64, %4:f64[%1]) {
///       …
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program loop_invariants(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
