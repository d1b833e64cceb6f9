#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// A read at a subscript that wraps around, `mod(i + c, n)` or `(i + c) % n` in a dimension of n elements, is a choice
/// between two affine ones, so that a task asks for its neighbours' edges and not for the whole dimension:
///
///     compute [i in 0..%0] (%1[mod(sub(i, 1), %0)])
/// becomes
///     compute [i in 0..%0] (select(ge(sub(i, 1), 0), %1[sub(i, 1)], %1[add(sub(i, 1), %0)]))
///
/// Each read is inside where its branch is taken, as the conditions tell. A constant other than 1 and -1 is brought
/// into 0 .. n - 1 first, by a scalar of its own.
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program periodic_reads(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
