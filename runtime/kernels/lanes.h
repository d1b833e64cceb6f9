#pragma once

#include <algorithm>

#include "runtime/kernels/task.h"

// Reductions along a line in a fixed order on every processor: partial results are interleaved (element number k of the
// line goes to number k mod n) and combined in a binary tree. So the bits depend neither on the processor's vector
// width nor on a line's alignment in memory.

namespace tdsl::rt::lanes {

/// Lines of up to this many elements are reduced sequentially.
inline constexpr Index kShortLine = 16;

/// `combine` over f(j) for all j of the line, with `Bytes` of partial results; `combine` is associative and
/// commutative, `identity` its identity.
template <Index Bytes, class T, class Combine, class F>
[[gnu::always_inline]] inline T reduce(Interval line, T identity, const Combine& combine, const F& f) {
  constexpr Index kLanes = std::max<Index>(1, Bytes / static_cast<Index>(sizeof(T)));
  if (line.size() <= kShortLine) {
    T total = identity;
    for (Index j = line.lo; j < line.hi; ++j) total = combine(total, f(j));
    return total;
  }
  T part[kLanes];
  for (Index l = 0; l < kLanes; ++l) part[l] = identity;
  Index j = line.lo;
  for (; j + kLanes <= line.hi; j += kLanes) {
#pragma omp simd
    for (Index l = 0; l < kLanes; ++l) part[l] = combine(part[l], f(j + l));
  }
  for (Index l = 0; j + l < line.hi; ++l) part[l] = combine(part[l], f(j + l));
  for (Index half = kLanes / 2; half > 0; half /= 2) {
    for (Index l = 0; l < half; ++l) part[l] = combine(part[l], part[l + half]);
  }
  return part[0];
}

/// Bytes of partial results of the sums and products below.
inline constexpr Index kBytes = 64;

template <class T, class F>
[[gnu::always_inline]] inline T sum(Interval line, const F& f) {
  return reduce<kBytes>(
      line, T{0}, [](T a, T b) __attribute__((always_inline)) { return a + b; }, f);
}
template <class T, class F>
[[gnu::always_inline]] inline T product(Interval line, const F& f) {
  return reduce<kBytes>(
      line, T{1}, [](T a, T b) __attribute__((always_inline)) { return a * b; }, f);
}

}  // namespace tdsl::rt::lanes
