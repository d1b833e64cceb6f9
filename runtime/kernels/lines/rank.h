#pragma once

#include "runtime/kernels/task.h"

// Positions of values among ascending elements:
//
//     count += rt::count_up_to(range_b, x(k), [&](Index b) { return low(b); });
//
// The search begins at the place of the value between the first and the last element, which is exact for equidistant
// elements, and compares elements only, so a wrong guess costs time, not correctness. If elements do not ascend, the
// result is some number between 0 and the length of the line.

namespace tdsl::rt {

namespace detail {

/// The number of elements in front of the first one for which `counts` does not hold.
template <class T, class Counts, class F>
[[nodiscard]] inline Index count_first(Interval line, T value, const Counts& counts, const F& element) {
  if (line.empty() || !counts(element(line.lo))) return 0;
  if (counts(element(line.hi - 1))) return line.size();
  // The element at `low` counts, and the one at `high` does not.
  Index low = line.lo, high = line.hi - 1;
  const auto first = static_cast<double>(element(low)), last = static_cast<double>(element(high));
  const double share = (static_cast<double>(value) - first) / (last - first);
  const Index guess = share > 0 && share < 1 ? low + static_cast<Index>(share * static_cast<double>(high - low)) : low;
  if (counts(element(guess))) {
    low = guess;
    for (Index step = 1; low + step < high; step *= 2) {
      if (!counts(element(low + step))) {
        high = low + step;
        break;
      }
      low += step;
    }
  } else {
    high = guess;
    for (Index step = 1; low + step < high; step *= 2) {
      if (counts(element(high - step))) {
        low = high - step;
        break;
      }
      high -= step;
    }
  }
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    (counts(element(middle)) ? low : high) = middle;
  }
  return high - line.lo;
}

}  // namespace detail

/// The number of elements of the line that are at most the value (below it); 0 for nan. Elements ascend.
template <class T, class F>
[[nodiscard]] inline Index count_up_to(Interval line, T value, const F& element) {
  return detail::count_first(
      line, value, [value](T e) { return e <= value; }, element);
}
template <class T, class F>
[[nodiscard]] inline Index count_below(Interval line, T value, const F& element) {
  return detail::count_first(
      line, value, [value](T e) { return e < value; }, element);
}

}  // namespace tdsl::rt
