#pragma once

#include "codegen/nest/nest.h"

namespace tdsl::nest {

/// Splits vector loops, sums along lines, and innermost loops of tasks on whole tensors, into interior and edges if
/// conditions on their index decide which elements are read, so that the conditions are constants in each part:
///
///     for i over task simd {                              for i over task simd inside %3 from 1 {
///       %2[i] = select(ge(i, 1), %1[sub(i, 1)], 0.0)        %2[i] = select(or(%3, ge(i, 1)), %1[sub(i, 1)], 0.0)
///     }                                                   }
///
/// Conditions are integer comparisons that are linear in the index with coefficient 1 or -1, and combinations of them
/// by `!`, `&&` and `||`. Those that are constant except at a few points at an end of the index's range, or of an
/// enclosing loop's range, bound the interior. In vector loops at most kMostSides others, which change in the middle of
/// the range or depend only on sizes and enclosing indices, become sides: code is compiled for both of their values.
/// Sums along lines have no sides. Conditions whose arithmetic might wrap around are left unchanged. Loops of tasks on
/// whole tensors are split only by conditions of selects, and only if their own range has an edge. Nests of rows are
/// left unchanged.
///
/// Pre: the nest is well formed. Post: so is the result, which is equivalent.
void split_interiors(Nest& nest);

inline constexpr int kMostSides = 2;

}  // namespace tdsl::nest
