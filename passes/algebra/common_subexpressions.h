#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Computes the same thing once. Two Computes are the same if they are structurally equal up to label names; the first
/// one must be visible where the second stands (same region or an enclosing one).
///
///     %2 = compute [i in 0..%0] (exp(%1[i]))
///     %3 = compute [j in 0..%0] (exp(%1[j]))
///     %4 = compute [i in 0..%0] (add(%2[i], %3[i]))
/// becomes
///     %2 = compute [i in 0..%0] (exp(%1[i]))
///     %4 = compute [i in 0..%0] (add(%2[i], %2[i]))
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program common_subexpressions(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
