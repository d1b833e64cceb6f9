#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Stores without what makes no difference to them. Afterwards a left side says something that the ranges of the index
/// variables do not, and elements only meet in it where a reduction cannot say so.
///
/// A left side that names all index variables in order and covers the result goes, and the base with it where every
/// element is written:
///
///     %3 = compute [i in 0..%0] (%1[i]) left [i] base %2          compute [i in 0..%0] (%1[i])
///
/// Index variables that do not occur on the left are reduced:
///
///     %3 = compute [i in 0..%0, j in 0..%1] (%2[i, j]) left [i] base %4 combine sum
/// becomes
///     %3 = compute [i in 0..%0] sum[j in 0..%1] (%2[i, j]) left [i] base %4 combine sum
///
/// Where the base is read anyway, its elements are combined in the expression, and it needs no copy:
///
///     %3 = compute [i in 1..%0] (%2[sub(i, 1)]) left [i] base %2 combine sum
/// becomes
///     %3 = compute [i in 1..%0] (add(%2[i], %2[sub(i, 1)])) left [i] base %2
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program stores(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
