#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "runtime/kernels/lanes.h"
#include "runtime/kernels/task.h"

// Loops over parts of a range in which conditions are compile-time constants, so that every part is specialised:
//
//     rt::each_inner_simd(range_i, {.from = 1, .to = n - 1}, [&](auto inside, Index i) {
//       y(i) = inside || i >= 1 ? x(i - 1) : 0.0;
//     });
//
// The source contains the function once. Iterations keep their order.

namespace tdsl::rt {

/// The interior of a range: all but some iterations at its ends, if `where` holds.
struct Inner {
  Index from = std::numeric_limits<Index>::min();
  Index to = std::numeric_limits<Index>::max();
  bool where = true;
};

/// The end of the part of a range in which `condition` holds, which is all or none of it.
[[nodiscard]] inline Index whole(Interval range, bool condition) { return condition ? range.hi : range.lo; }

namespace detail {

/// f(constants…, i) for all i of the range.
template <bool Simd, class F, class... Constants>
[[gnu::always_inline]] inline void each_of(Interval range, const F& f, Constants... constants) {
  if constexpr (Simd) {
#pragma omp simd
    for (Index i = range.lo; i < range.hi; ++i) f(constants..., i);
  } else {
    for (Index i = range.lo; i < range.hi; ++i) f(constants..., i);
  }
}

/// The part of a range inside.
[[nodiscard]] inline Interval interior(Interval range, const Inner& inner) {
  const Index begin = std::clamp(inner.from, range.lo, std::max(range.lo, range.hi));
  return {begin, inner.where ? std::clamp(inner.to, begin, std::max(begin, range.hi)) : begin};
}

/// f(std::true_type, i) in the interior, f(std::false_type, i) elsewhere.
template <bool Simd, class F>
[[gnu::always_inline]] inline void each_inner(Interval range, const Inner& inner, const F& f) {
  const Interval inside = interior(range, inner);
  each_of<false>({range.lo, inside.lo}, f, std::false_type{});
  each_of<Simd>(inside, f, std::true_type{});
  each_of<false>({inside.hi, range.hi}, f, std::false_type{});
}

/// g(part, before…) for the parts into which `until` cuts the range: `before` number k is std::true_type before
/// until[k].
template <std::size_t N, class G, class... Before>
[[gnu::always_inline]] inline void cut(Interval range, const Index (&until)[N], const G& g, Before... before) {
  if constexpr (sizeof...(Before) == N) {
    if (!range.empty()) g(range, before...);
  } else {
    const Index at = std::clamp(until[sizeof...(Before)], range.lo, std::max(range.lo, range.hi));
    cut(Interval{range.lo, at}, until, g, before..., std::true_type{});
    cut(Interval{at, range.hi}, until, g, before..., std::false_type{});
  }
}

template <bool Simd, std::size_t N, class F>
[[gnu::always_inline]] inline void each_part(Interval range, const Index (&until)[N], const F& f) {
  cut(
      range,
      until, [&](Interval part, auto... before) __attribute__((always_inline)) { each_of<Simd>(part, f, before...); });
}

template <bool Simd, std::size_t N, class F>
[[gnu::always_inline]] inline void each_inner_part(Interval range, const Index (&until)[N], const Inner& inner,
                                                   const F& f) {
  cut(
      range, until, [&](Interval part, auto... before) __attribute__((always_inline)) {
        each_inner<Simd>(
            part, inner, [&](auto inside, Index i) __attribute__((always_inline)) { f(before..., inside, i); });
      });
}

}  // namespace detail

/// f(inside, i) for all i of the range; `_simd`: if calls in the interior are independent.
template <class F>
[[gnu::always_inline]] inline void each_inner(Interval range, const Inner& inner, const F& f) {
  detail::each_inner<false>(range, inner, f);
}
template <class F>
[[gnu::always_inline]] inline void each_inner_simd(Interval range, const Inner& inner, const F& f) {
  detail::each_inner<true>(range, inner, f);
}

/// The sum (product) of f(inside, i) over the range: in lanes (lanes.h) in the interior, one by one in front of it and
/// behind it.
template <class T, class F>
[[gnu::always_inline]] inline T inner_sum(Interval range, const Inner& inner, const F& f) {
  const Interval inside = detail::interior(range, inner);
  T total{0};
  for (Index i = range.lo; i < inside.lo; ++i) total += f(std::false_type{}, i);
  total += lanes::sum<T>(
      inside, [&](Index i) __attribute__((always_inline)) { return f(std::true_type{}, i); });
  for (Index i = inside.hi; i < range.hi; ++i) total += f(std::false_type{}, i);
  return total;
}
template <class T, class F>
[[gnu::always_inline]] inline T inner_product(Interval range, const Inner& inner, const F& f) {
  const Interval inside = detail::interior(range, inner);
  T total{1};
  for (Index i = range.lo; i < inside.lo; ++i) total *= f(std::false_type{}, i);
  total *= lanes::product<T>(
      inside, [&](Index i) __attribute__((always_inline)) { return f(std::true_type{}, i); });
  for (Index i = inside.hi; i < range.hi; ++i) total *= f(std::false_type{}, i);
  return total;
}

/// f(before…, i): whether i is before until[k], for every k.
template <std::size_t N, class F>
[[gnu::always_inline]] inline void each_part(Interval range, const Index (&until)[N], const F& f) {
  detail::each_part<false>(range, until, f);
}
template <std::size_t N, class F>
[[gnu::always_inline]] inline void each_part_simd(Interval range, const Index (&until)[N], const F& f) {
  detail::each_part<true>(range, until, f);
}

/// f(before…, inside, i)
template <std::size_t N, class F>
[[gnu::always_inline]] inline void each_inner_part(Interval range, const Index (&until)[N], const Inner& inner,
                                                   const F& f) {
  detail::each_inner_part<false>(range, until, inner, f);
}
template <std::size_t N, class F>
[[gnu::always_inline]] inline void each_inner_part_simd(Interval range, const Index (&until)[N], const Inner& inner,
                                                        const F& f) {
  detail::each_inner_part<true>(range, until, inner, f);
}

}  // namespace tdsl::rt
