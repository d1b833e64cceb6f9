#pragma once

#include <algorithm>
#include <type_traits>

#include "runtime/kernels/task.h"

// Reductions along a line in a fixed order on every processor: partial results are interleaved (element number k of the
// line goes to number k mod n) and combined in a binary tree. So the bits depend neither on the processor's vector
// width nor on a line's alignment in memory.

namespace tdsl::rt::lanes {

/// Lines of up to this many elements are reduced sequentially.
inline constexpr Index kShortLine = 16;

namespace detail {

/// Combines the partial results in a binary tree.
template <Index kLanes, class T, class Combine>
[[gnu::always_inline]] inline T folded(T* part, const Combine& combine) {
  for (Index half = kLanes / 2; half > 0; half /= 2) {
    for (Index l = 0; l < half; ++l) part[l] = combine(part[l], part[l + half]);
  }
  return part[0];
}

}  // namespace detail

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
  const auto step = [&]<Index kCount>(Index j, std::integral_constant<Index, kCount>) __attribute__((always_inline)) {
#pragma omp simd
    for (Index l = 0; l < kCount; ++l) part[l] = combine(part[l], f(j + l));
  };
  Index j = line.lo;
  for (; j + kLanes <= line.hi; j += kLanes) step(j, std::integral_constant<Index, kLanes>{});
  constexpr Index kHalf = kLanes / 2;
  Index done = 0;
  if (kHalf > 1 && j + kHalf <= line.hi) {
    step(j, std::integral_constant<Index, kHalf>{});
    done = kHalf;
  }
  if (j + done == line.hi) return detail::folded<kLanes>(part, combine);
  // The loop above keeps its results in registers, since only a copy is subscripted.
  T all[kLanes];
  for (Index l = 0; l < kLanes; ++l) all[l] = part[l];
  for (Index l = done; j + l < line.hi; ++l) all[l] = combine(all[l], f(j + l));
  return detail::folded<kLanes>(all, combine);
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
