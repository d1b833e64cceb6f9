#pragma once

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

/// `Width` contiguous elements of a result row, held in registers while their summands are visited.
template <class T, plan::Index Width>
struct RowPanel {
  plan::Index first;
  T sums[Width];

  template <class F>
  [[gnu::always_inline]] void add(const F& f) {
#pragma omp simd
    for (plan::Index l = 0; l < Width; ++l) sums[l] += f(first + l);
  }
};

/// The same in memory, for any number of elements.
template <class T, class Place>
struct RowInPlace {
  plan::Interval range;
  const Place& place;

  template <class F>
  [[gnu::always_inline]] void add(const F& f) const {
#pragma omp simd
    for (plan::Index j = range.lo; j < range.hi; ++j) place(j) += f(j);
  }
};

namespace detail {

template <plan::Index Width, class T, class Place, class Body>
[[gnu::always_inline]] inline plan::Index add_panels(plan::Index from, plan::Index end, const Place& place,
                                                     const Body& body) {
  for (; from + Width <= end; from += Width) {
    RowPanel<T, Width> panel;
    panel.first = from;
    for (plan::Index l = 0; l < Width; ++l) panel.sums[l] = place(from + l);
    body(panel);
    for (plan::Index l = 0; l < Width; ++l) place(from + l) = panel.sums[l];
  }
  return from;
}

}  // namespace detail

/// Adds to the elements `place(j)` of a result row, for j in the range, the summands that `body` visits: it calls
/// `sums.add([&](Index j) { return …; })` with the same values in the same order whenever it is called. A short row is
/// processed in parts that stay in registers, for each of which `body` visits everything again.
///
///     rt::row_panels<double>(range_j, [&](Index j) -> double& { return C(i, j); }, [&](auto& sums) {
///       row.each([&](Index k, double a) { sums.add([&](Index j) { return a * B(k, j); }); });
///     });
template <class T, class Place, class Body>
[[gnu::always_inline]] inline void row_panels(plan::Interval range, const Place& place, const Body& body) {
  constexpr plan::Index kShort = 64;
  plan::Index from = range.lo;
  if (range.size() <= kShort) {
    from = detail::add_panels<16, T>(from, range.hi, place, body);
    from = detail::add_panels<8, T>(from, range.hi, place, body);
  }
  if (from == range.hi) return;
  RowInPlace<T, Place> rest{{from, range.hi}, place};
  body(rest);
}

}  // namespace tdsl::rt
