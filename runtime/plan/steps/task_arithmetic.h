#pragma once

#include "runtime/plan/space/index.h"

// Integer arithmetic of affine subscripts, shared by the enumerator's two halves.

namespace tdsl::plan::arithmetic {

/// Values v with coefficient * v in [lo, hi).
[[nodiscard]] inline Interval solve(Index coefficient, Interval image) {
  if (image.empty()) return {0, 0};
  if (coefficient > 0) return {ceil_div(image.lo, coefficient), floor_div(image.hi - 1, coefficient) + 1};
  return {ceil_div(image.hi - 1, coefficient), floor_div(image.lo, coefficient) + 1};
}

/// Hull of coefficient * v for v in the interval.
[[nodiscard]] inline Interval scale(Index coefficient, Interval v) {
  if (v.empty()) return {0, 0};
  return coefficient > 0 ? Interval{coefficient * v.lo, coefficient * (v.hi - 1) + 1}
                         : Interval{coefficient * (v.hi - 1), coefficient * v.lo + 1};
}

/// Hull of x / divisor, rounded towards zero, for x in the interval.
[[nodiscard]] inline Interval divided(Interval x, Index divisor) {
  if (x.empty()) return {0, 0};
  return {x.lo / divisor, (x.hi - 1) / divisor + 1};
}
/// All x with x / divisor in the interval.
[[nodiscard]] inline Interval undivided(Interval quotients, Index divisor) {
  if (quotients.empty()) return {0, 0};
  const Index lo = quotients.lo > 0 ? quotients.lo * divisor : (quotients.lo - 1) * divisor + 1;
  const Index last = quotients.hi - 1;
  const Index hi = last >= 0 ? (last + 1) * divisor : last * divisor + 1;
  return {lo, hi};
}

/// Number of super-blocks along a dimension in which a rank owns `owned` tiles.
[[nodiscard]] inline Index chunk_count(Index owned, Index edge) {
  return edge <= 0 || owned == 0 ? 1 : ceil_div(owned, edge);
}

}  // namespace tdsl::plan::arithmetic
