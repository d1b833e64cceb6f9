#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "runtime/kernels/lanes.h"
#include "runtime/kernels/scalar_math.h"

// Reductions along a line over the elements for which a mask holds:
//
//     rt::lanes::sum_where<double>(range_k, [&](Index k) { return (low <= r(k)) & (r(k) < high); },
//                                  [&](Index k) { return d(k); })
//
// The order is that of lanes.h: element number k of the line belongs to partial result k mod n, whatever the mask, and
// elements that do not count leave it unchanged, bit for bit. The mask is evaluated for all elements and must not
// branch, so it is written with `&`. Values, too, are evaluated for all elements; those that do not count are replaced
// by the identity through bit operations, since g++ turns neither a branch nor a select in such a loop into vector
// code. With `kMembers`, for values that may stop the run or cost more than a branch, values are evaluated only where
// the mask holds, after one branch for all partial results.

namespace tdsl::rt::lanes {

/// The elements for which values are evaluated.
enum class Evaluate : std::uint8_t { kAll, kMembers };
using enum Evaluate;

namespace detail {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// `value` if the condition holds, else `other`, without a branch.
template <class T>
[[gnu::always_inline]] inline T selected(bool condition, T value, T other) {
  using B = Bits<T>;
  static_assert(sizeof(B) == sizeof(T));
  const B chosen = B{0} - static_cast<B>(condition);
  return std::bit_cast<T>((std::bit_cast<B>(value) & chosen) | (std::bit_cast<B>(other) & ~chosen));
}

/// Like reduce() over the elements for which the mask holds, whose values alone are evaluated.
template <Index Bytes, class T, class Combine, class Mask, class F>
[[gnu::always_inline]] inline T reduce_members(Interval line, T identity, const Combine& combine, const Mask& mask,
                                               const F& f) {
  constexpr Index kLanes = std::max<Index>(1, Bytes / static_cast<Index>(sizeof(T)));
  if (line.size() <= kShortLine) {
    T total = identity;
    for (Index j = line.lo; j < line.hi; ++j) {
      if (mask(j)) total = combine(total, f(j));
    }
    return total;
  }
  T part[kLanes];
  for (Index l = 0; l < kLanes; ++l) part[l] = identity;
  Index j = line.lo;
  for (; j + kLanes <= line.hi; j += kLanes) {
    std::uint64_t member[kLanes], any = 0;
#pragma omp simd
    for (Index l = 0; l < kLanes; ++l) member[l] = static_cast<std::uint64_t>(static_cast<bool>(mask(j + l)));
    for (Index l = 0; l < kLanes; ++l) any |= member[l];
    if (any == 0) continue;
    for (Index l = 0; l < kLanes; ++l) {
      if (member[l] != 0) part[l] = combine(part[l], f(j + l));
    }
  }
  for (Index l = 0; j + l < line.hi; ++l) {
    if (mask(j + l)) part[l] = combine(part[l], f(j + l));
  }
  return folded<kLanes>(part, combine);
}

/// `skipped`: combining it with any partial result leaves the result unchanged.
template <Evaluate Which, class T, class Combine, class Mask, class F>
[[gnu::always_inline]] inline T reduce_where(Interval line, T identity, T skipped, const Combine& combine,
                                             const Mask& mask, const F& f) {
  if constexpr (Which == kMembers) {
    return reduce_members<kBytes>(line, identity, combine, mask, f);
  } else {
    return reduce<kBytes>(
        line, identity, combine, [&](Index j) __attribute__((always_inline)) {
          return selected<T>(static_cast<bool>(mask(j)), f(j), skipped);
        });
  }
}

}  // namespace detail

/// The sum of f(j) for all j of the line for which mask(j) holds; of integers: it wraps around.
template <class T, Evaluate Which = kAll, class Mask, class F>
[[gnu::always_inline]] inline T sum_where(Interval line, const Mask& mask, const F& f) {
  // -0.0 leaves every partial sum unchanged, also 0.0 and -0.0.
  return detail::reduce_where<Which>(
      line, T{0}, std::is_floating_point_v<T> ? -T{0} : T{0},
      [](T a, T b) __attribute__((always_inline)) { return scalar::add(a, b); }, mask, f);
}
template <class T, Evaluate Which = kAll, class Mask, class F>
[[gnu::always_inline]] inline T product_where(Interval line, const Mask& mask, const F& f) {
  return detail::reduce_where<Which>(
      line, T{1}, T{1}, [](T a, T b) __attribute__((always_inline)) { return scalar::multiply(a, b); }, mask, f);
}
template <class T, Evaluate Which = kAll, class Mask, class F>
[[gnu::always_inline]] inline T least_where(Interval line, const Mask& mask, const F& f) {
  constexpr T kIdentity = scalar::min_identity<T>();
  return detail::reduce_where<Which>(
      line, kIdentity, kIdentity, [](T a, T b) __attribute__((always_inline)) { return scalar::least(a, b); }, mask, f);
}
template <class T, Evaluate Which = kAll, class Mask, class F>
[[gnu::always_inline]] inline T greatest_where(Interval line, const Mask& mask, const F& f) {
  constexpr T kIdentity = scalar::max_identity<T>();
  return detail::reduce_where<Which>(
      line, kIdentity, kIdentity, [](T a, T b) __attribute__((always_inline)) { return scalar::greatest(a, b); }, mask,
      f);
}

}  // namespace tdsl::rt::lanes
