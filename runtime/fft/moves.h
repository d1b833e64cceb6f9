#pragma once

#include <algorithm>
#include <type_traits>

#include "runtime/fft/stages.h"
#include "runtime/fft/transform.h"
#include "runtime/fft/transpose.h"

// Elements of lines to and from lanes.

namespace tdsl::rt::fourier {

/// Elements of a line: part 0 of element k is at k * stride, part 1 `gap` behind it. Reals that are transformed as n /
/// 2 pairs have the gap of neighbours; a gap of 0 means that the imaginary parts are 0.
struct Layout {
  Index n = 0;
  Index stride = 2;
  Index gap = 1;
};

namespace detail {

/// True if the lines are side by side at this distance, and fill the lanes.
template <class T>
bool side_by_side(const Lines<T>& lines, Index count, Index distance) {
  if (count != kLanes<std::remove_const_t<T>>) return false;
  for (Index l = 1; l < count; ++l) {
    if (lines.first[static_cast<std::size_t>(l)] != lines.first[0] + l * distance) return false;
  }
  return true;
}

template <class T, Index kDistance>
struct LoadBeside {
  static void run(const T* from, const Layout& layout, const Lanes<T>& to) {
    for (Index k = 0; k < layout.n; ++k) {
      const T *re = from + k * layout.stride, *im = re + layout.gap;
      T *to_re = to.re + k * kLanes<T>, *to_im = to.im + k * kLanes<T>;
#pragma omp simd
      for (Index l = 0; l < kLanes<T>; ++l) {
        to_re[l] = re[l * kDistance];
        to_im[l] = im[l * kDistance];
      }
    }
  }
};

template <class T, Index kDistance>
struct StoreBeside {
  static void run(const Lanes<T>& from, const Layout& layout, T* to, T scale) {
    for (Index k = 0; k < layout.n; ++k) {
      T *re = to + k * layout.stride, *im = re + layout.gap;
      const T *from_re = from.re + k * kLanes<T>, *from_im = from.im + k * kLanes<T>;
#pragma omp simd
      for (Index l = 0; l < kLanes<T>; ++l) {
        re[l * kDistance] = from_re[l] * scale;
        im[l * kDistance] = from_im[l] * scale;
      }
    }
  }
};

/// True if all lanes have lines of contiguous pairs, for which there are transposes.
template <class T>
bool transposes(Index count, const Layout& layout) {
  return std::is_same_v<T, double> && count == kLanes<T> && layout.stride == 2 && layout.gap == 1 && has_transposes();
}

/// Elements of each line that are moved before the next line's.
constexpr Index kStrip = 16;

template <class T>
void load_apart(const Lines<const T>& from, Index count, const Layout& layout, const Lanes<T>& to) {
  constexpr Index kL = kLanes<T>;
  if constexpr (std::is_same_v<T, double>) {
    if (transposes<T>(count, layout)) return transpose_in(from.first, layout.n, to);
  }
  for (Index begin = 0; begin < layout.n; begin += kStrip) {
    const Index end = std::min(begin + kStrip, layout.n);
    for (Index l = 0; l < count; ++l) {
      const T* line = from.first[static_cast<std::size_t>(l)];
      for (Index k = begin; k < end; ++k) {
        to.re[k * kL + l] = line[k * layout.stride];
        to.im[k * kL + l] = layout.gap == 0 ? T{0} : line[k * layout.stride + layout.gap];
      }
    }
    for (Index k = begin; k < end; ++k) {
      std::fill(to.re + k * kL + count, to.re + (k + 1) * kL, T{0});
      std::fill(to.im + k * kL + count, to.im + (k + 1) * kL, T{0});
    }
  }
}

template <class T>
void store_apart(const Lanes<T>& from, const Layout& layout, const Lines<T>& to, Index count, T scale) {
  constexpr Index kL = kLanes<T>;
  if constexpr (std::is_same_v<T, double>) {
    if (transposes<T>(count, layout)) return transpose_out(from, layout.n, scale, to.first);
  }
  for (Index begin = 0; begin < layout.n; begin += kStrip) {
    const Index end = std::min(begin + kStrip, layout.n);
    for (Index l = 0; l < count; ++l) {
      T* line = to.first[static_cast<std::size_t>(l)];
      for (Index k = begin; k < end; ++k) {
        line[k * layout.stride] = from.re[k * kL + l] * scale;
        if (layout.gap != 0) line[k * layout.stride + layout.gap] = from.im[k * kL + l] * scale;
      }
    }
  }
}

}  // namespace detail

/// `distance`: between lines that are side by side, 2 for complex elements and 1 for reals. Lanes without a line get 0.
template <class T>
void load(const Lines<const T>& from, Index count, const Layout& layout, Index distance, const Lanes<T>& to) {
  using rt::detail::at_level;
  if (layout.gap == 0 || !detail::side_by_side(from, count, distance))
    return detail::load_apart(from, count, layout, to);
  const T* first = from.first[0];
  if (distance == 2) return at_level<SimdLevel::kAvx512, detail::LoadBeside<T, 2>>(first, layout, to);
  at_level<SimdLevel::kAvx512, detail::LoadBeside<T, 1>>(first, layout, to);
}

/// A gap of 0 drops imaginary parts.
template <class T>
void store(const Lanes<T>& from, const Layout& layout, const Lines<T>& to, Index count, Index distance, T scale) {
  using rt::detail::at_level;
  if (layout.gap == 0 || !detail::side_by_side(to, count, distance))
    return detail::store_apart(from, layout, to, count, scale);
  T* first = to.first[0];
  if (distance == 2) return at_level<SimdLevel::kAvx512, detail::StoreBeside<T, 2>>(from, layout, first, scale);
  at_level<SimdLevel::kAvx512, detail::StoreBeside<T, 1>>(from, layout, first, scale);
}

}  // namespace tdsl::rt::fourier
