#pragma once

#include <algorithm>
#include <cstring>

#include "runtime/kernels/product/axis.h"
#include "runtime/plan/space/index.h"

/// Packs operands of a matrix product into panels, in the order in which a micro-kernel reads them: for a slab of k
/// columns, `width` rows for the first k, then for the second, and so on. Missing rows of the last panel are zeros.
namespace tdsl::rt::pack {

using plan::Index;

namespace detail {

/// Elements of a vector register available on every processor.
template <class T>
inline constexpr Index kVector = 16 / static_cast<Index>(sizeof(T));

using Floats = float __attribute__((vector_size(16)));
using Doubles = double __attribute__((vector_size(16)));

inline Floats load(const float* from) {
  Floats v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline Doubles load(const double* from) {
  Doubles v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class Vector, class T>
void store(T* to, Vector v) {
  std::memcpy(to, &v, sizeof v);
}

/// Four rows of four, transposed.
inline void transpose(const float* from, Index row, float* to, Index step) {
  const Floats a = load(from);
  const Floats b = load(from + row);
  const Floats c = load(from + 2 * row);
  const Floats d = load(from + 3 * row);
  const Floats ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Floats ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Floats cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Floats cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  store(to, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  store(to + step, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  store(to + 2 * step, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  store(to + 3 * step, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

/// Two rows of two, transposed.
inline void transpose(const double* from, Index row, double* to, Index step) {
  const Doubles a = load(from);
  const Doubles b = load(from + row);
  store(to, __builtin_shufflevector(a, b, 0, 2));
  store(to + step, __builtin_shufflevector(a, b, 1, 3));
}

/// A full panel with contiguous rows. A cache line of each row is used up before the next.
template <class T>
void full_panel_of_rows(Index width, Index k, const T* from, Index row, T* to) {
  constexpr Index kTile = kVector<T>;
  constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));
  const Index whole_rows = width / kTile * kTile;
  for (Index start = 0; start < k; start += kLine) {
    const Index end = std::min(k, start + kLine);
    const Index whole = start + (end - start) / kTile * kTile;
    for (Index i = 0; i < whole_rows; i += kTile) {
      for (Index l = start; l < whole; l += kTile) transpose(from + i * row + l, row, to + l * width + i, width);
      for (Index l = whole; l < end; ++l) {
        for (Index r = i; r < i + kTile; ++r) to[l * width + r] = from[r * row + l];
      }
    }
    for (Index i = whole_rows; i < width; ++i) {
      for (Index l = start; l < end; ++l) to[l * width + i] = from[i * row + l];
    }
  }
}

/// A full panel with contiguous columns, of compile-time width.
template <int Width, class T>
void full_panel_of_columns(Index k, const T* from, Index column, T* to) {
  for (Index l = 0; l < k; ++l) std::memcpy(to + l * Width, from + l * column, Width * sizeof(T));
}

template <class T>
void full_panel_of_columns(Index width, Index k, const T* from, Index column, T* to) {
  switch (width) {
    case 6: return full_panel_of_columns<6>(k, from, column, to);
    case 8: return full_panel_of_columns<8>(k, from, column, to);
    case 12: return full_panel_of_columns<12>(k, from, column, to);
    case 14: return full_panel_of_columns<14>(k, from, column, to);
    case 16: return full_panel_of_columns<16>(k, from, column, to);
    case 24: return full_panel_of_columns<24>(k, from, column, to);
    case 32: return full_panel_of_columns<32>(k, from, column, to);
    default:
      for (Index l = 0; l < k; ++l) std::copy_n(from + l * column, width, to + l * width);
  }
}

}  // namespace detail

/// One panel: `rows` <= `width` rows of k elements at from[i * row + l * column], into k * width elements.
template <class T>
void panel(Index width, Index rows, Index k, const T* from, Index row, Index column, T* to) {
  if (rows == width && row == 1) {
    detail::full_panel_of_columns(width, k, from, column, to);
  } else if (rows == width && column == 1) {
    detail::full_panel_of_rows(width, k, from, row, to);
  } else {
    for (Index l = 0; l < k; ++l) {
      for (Index i = 0; i < rows; ++i) to[l * width + i] = from[i * row + l * column];
      std::fill(to + l * width + rows, to + (l + 1) * width, T{0});
    }
  }
}

/// Elements that `panels` writes.
inline Index elements(Index width, Index rows, Index k) { return (rows + width - 1) / width * width * k; }

/// All rows. If columns are contiguous, a few of them at a time for all panels, so that memory is read sequentially.
template <class T>
void panels(Index width, Index rows, Index k, const T* from, Index row, Index column, T* to) {
  constexpr Index kColumns = 8;
  const Index step = row == 1 ? kColumns : k;
  for (Index l = 0; l < k; l += step) {
    for (Index i = 0; i < rows; i += width) {
      panel(width, std::min(width, rows - i), std::min(step, k - l), from + i * row + l * column, row, column,
            to + i * k + l * width);
    }
  }
}

/// All rows of a matrix with the element [i, l] at from[row[i] + column[l]]. Panels are packed run by run; those with
/// rows at unequal steps, which cross tiles, element by element.
template <class T>
void panels(Index width, Index rows, Index k, const T* from, const Axis& row, const Axis& column, T* to) {
  if (row.is_regular() && column.is_regular()) {
    panels(width, rows, k, from + row[0] + column[0], row.run(rows).step, column.run(k).step, to);
    return;
  }
  for (Index l = 0; l < k;) {
    const Axis columns = column.from(l);
    const Axis::Run along = columns.run(k - l);
    for (Index i = 0; i < rows; i += width) {
      const Axis here = row.from(i);
      const Index count = std::min(width, rows - i);
      const Axis::Run across = here.run(count);
      T* const panel_to = to + i * k + l * width;
      if (across.length == count) {
        panel(width, count, along.length, from + here[0] + columns[0], across.step, along.step, panel_to);
        continue;
      }
      for (Index c = 0; c < along.length; ++c) {
        const T* const values = from + columns[c];
        for (Index r = 0; r < count; ++r) panel_to[c * width + r] = values[here[r]];
        std::fill(panel_to + c * width + count, panel_to + (c + 1) * width, T{0});
      }
    }
    l += along.length;
  }
}

}  // namespace tdsl::rt::pack
