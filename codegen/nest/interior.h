#pragma once

#include "codegen/nest/nest.h"

namespace tdsl::nest {

/// Splits loops of vectors where conditions on their index decide what is read, so that the conditions are constants in
/// each part:
///
///     for i over task simd {                              for i over task simd inside %3 from 1 {
///       %2[i] = select(ge(i, 1), %1[sub(i, 1)], 0.0)        %2[i] = select(or(%3, ge(i, 1)), %1[sub(i, 1)], 0.0)
///     }                                                   }
///
/// Conditions are comparisons of integers that are linear in the index with coefficient 1 or -1, and what `!`, `&&` and
/// `||` make of them. Those that are decided for all but a few points at an end of the index's range, or of that of a
/// loop around, bound the interior. At most kMostSides others, which change somewhere in the middle or depend on sizes
/// and indices around alone, are sides: both their values are compiled. Conditions whose arithmetic might wrap around
/// stay as they are.
///
/// Pre: the nest is well formed. Post: so is the result, which computes the same.
void split_interiors(Nest& nest);

inline constexpr int kMostSides = 2;

}  // namespace tdsl::nest
