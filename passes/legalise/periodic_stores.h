#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// A store at a subscript that wraps around, `mod(i + c, n)` or `(i + c) % n`, where the index variable runs once
/// around and occurs nowhere else on the left, is an ordinary store of what the element's own subscript leads back to:
///
///     %3 = compute [i in 0..%0] (%1[i]) left [mod(add(i, 1), %0)] base %2
/// becomes
///     %3 = compute [i in 0..%0] (%1[mod(sub(i, 1), %0)]) left [i] base %2
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program periodic_stores(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
