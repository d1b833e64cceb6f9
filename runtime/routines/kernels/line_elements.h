#pragma once

#include <limits>

#include "runtime/kernels/task.h"

// Elementwise kernels of routines along lines. Arguments are in the order of KernelCall::numbers; T is the operands'
// element type.

namespace tdsl::rt::routines::kernels {

/// A value that compares below every element.
template <class T>
constexpr T padding() {
  if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::quiet_NaN();
  return std::numeric_limits<T>::lowest();
}

/// out(g, j) is element g * height + j of n; padded with a value that compares below every element.
template <class T>
Kernel padded_blocks(Index height, Index n) {
  return [height, n](const TaskArgs& t) {
    const auto in = t.in<T, 1>(0);
    const auto out = t.out<T, 2>();
    for (Index g = t.lo(0); g < t.hi(0); ++g) {
      for (Index j = t.lo(1); j < t.hi(1); ++j) out(g, j) = g * height + j < n ? in(g * height + j) : padding<T>();
    }
  };
}

/// Concatenates the rows of a matrix with `each` columns.
template <class T>
Kernel in_one_row(Index each) {
  return [each](const TaskArgs& t) {
    const auto in = t.in<T, 2>(0);
    const auto out = t.out<T, 1>();
    for (Index c = t.lo(0); c < t.hi(0); ++c) out(c) = in(c / each, c % each);
  };
}

/// The same for positions within blocks of `height` elements, converted to positions in the line.
inline Kernel origins(Index each, Index height) {
  return [each, height](const TaskArgs& t) {
    const auto in = t.in<std::int64_t, 2>(0);
    const auto out = t.out<std::int64_t, 1>();
    for (Index c = t.lo(0); c < t.hi(0); ++c) out(c) = in(c / each, c % each) + c / each * height;
  };
}

/// out(j) = operand 1(operand 0(j)), for the elements in the task's panel; partial results are combined by max.
inline Kernel pick() {
  return [](const TaskArgs& t) {
    const auto places = t.in<std::int64_t, 1>(0);
    const auto from = t.in<std::int64_t, 1>(1);
    const auto out = t.out<std::int64_t, 1>();
    if (t.fresh) fill<std::int64_t>(t.outputs[0], std::numeric_limits<std::int64_t>::min());
    if (t.labels[1].empty()) return;  // no elements were fetched
    for (Index j = t.lo(0); j < t.hi(0); ++j) {
      if (t.lo(1) <= places(j) && places(j) < t.hi(1)) out(j) = from(places(j));
    }
  };
}

}  // namespace tdsl::rt::routines::kernels
