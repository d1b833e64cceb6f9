#include <limits>

#include "runtime/routines/kernels/elements.h"

namespace tdsl::rt::routines::kernels {

namespace {

/// A value that compares below every element.
template <class T>
constexpr T padding() {
  if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::quiet_NaN();
  return std::numeric_limits<T>::lowest();
}

}  // namespace

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

template <class T>
Kernel in_one_row(Index each) {
  return [each](const TaskArgs& t) {
    const auto in = t.in<T, 2>(0);
    const auto out = t.out<T, 1>();
    for (Index c = t.lo(0); c < t.hi(0); ++c) out(c) = in(c / each, c % each);
  };
}

Kernel origins(Index each, Index height) {
  return [each, height](const TaskArgs& t) {
    const auto in = t.in<std::int64_t, 2>(0);
    const auto out = t.out<std::int64_t, 1>();
    for (Index c = t.lo(0); c < t.hi(0); ++c) out(c) = in(c / each, c % each) + c / each * height;
  };
}

Kernel pick() {
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

#define TDSL_LINE_ELEMENTS(T)                     \
  template Kernel padded_blocks<T>(Index, Index); \
  template Kernel in_one_row<T>(Index)
TDSL_LINE_ELEMENTS(bool);
TDSL_LINE_ELEMENTS(std::int32_t);
TDSL_LINE_ELEMENTS(std::int64_t);
TDSL_LINE_ELEMENTS(float);
TDSL_LINE_ELEMENTS(double);
#undef TDSL_LINE_ELEMENTS

}  // namespace tdsl::rt::routines::kernels
