#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// A reduction that counts only within a band along another index variable runs over the band alone: its variable
/// becomes that one plus a short range, so that loops, tiles of operands and costs are those of the band. The band may
/// be said by the guard, or by a condition outside of which the body adds 0.
///
///     compute [i in 0..%0] sum[j in 0..%0] (absent_mul(select(le(abs(sub(i, j)), %b), %S[add(sub(i, j), %b), j], 0.0),
///     %x[j]))
/// becomes
///     compute [i in 0..%0] sum[j in 0..2 %b + 1] (absent_mul(%S[2 %b - j, i + j - %b], %x[i + j - %b])) where le(%b -
///     i, j) && lt(j, %0 + %b - i)
///
/// Points keep their order, and so do sums. What is left of the old range is said by bounds of the new variable, which
/// loops observe by where they begin and end. Where it cannot be told that the band is shorter than the range, nothing
/// happens. A length that params decide counts as short if a tensor that is read is as long: `b` may also be a number
/// that stands for "no limit".
///
/// Precondition and postcondition: verified.
[[nodiscard]] ir::Program bands(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
