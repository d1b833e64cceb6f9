#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/kernels/progress.h"
#include "runtime/plan/space/index.h"

// Products of a vector and a matrix with short contiguous rows: of 1 to kLongest elements, a number that the compiler knows. BLAS calls a
// kernel of long loops for every few rows, and takes up to eight times as long. Rows and columns are added in index order.

namespace tdsl::rt::short_rows {

using plan::Index;

inline constexpr Index kLongest = 16;

namespace detail {

constexpr Index kRowsAtOnce = 1 << 15;  ///< between pauses

template <Index Length, class T>
void dots(Index rows, const T* a, Index step, const T* x, Index x_step, bool accumulate, T* y, Index y_step) {
  std::array<T, Length> factor;
  for (Index l = 0; l < Length; ++l) factor[static_cast<std::size_t>(l)] = x[l * x_step];
  for (Index first = 0; first < rows; first += kRowsAtOnce) {
    for (Index i = first; i < std::min(rows, first + kRowsAtOnce); ++i) {
      T sum = a[i * step] * factor[0];
      for (Index l = 1; l < Length; ++l) sum += a[i * step + l] * factor[static_cast<std::size_t>(l)];
      y[i * y_step] = accumulate ? y[i * y_step] + sum : sum;
    }
    progress::pause();
  }
}

template <Index Length, class T>
void scaled_sum(Index rows, const T* a, Index step, const T* x, Index x_step, bool accumulate, T* y, Index y_step) {
  std::array<T, Length> sum{};
  for (Index first = 0; first < rows; first += kRowsAtOnce) {
    for (Index i = first; i < std::min(rows, first + kRowsAtOnce); ++i) {
      const T factor = x[i * x_step];
      for (Index l = 0; l < Length; ++l) sum[static_cast<std::size_t>(l)] += a[i * step + l] * factor;
    }
    progress::pause();
  }
  for (Index l = 0; l < Length; ++l) y[l * y_step] = accumulate ? y[l * y_step] + sum[static_cast<std::size_t>(l)] : sum[static_cast<std::size_t>(l)];
}

template <class F, Index... Lengths>
void with_length(Index length, const F& f, std::integer_sequence<Index, Lengths...>) {
  static_cast<void>(((length == Lengths + 1 && (f.template operator()<Lengths + 1>(), true)) || ...));
}

}  // namespace detail

/// y = A x, or y += A x: row i of A begins at a[i * step].
template <class T>
void dots(Index rows, Index length, const T* a, Index step, const T* x, Index x_step, bool accumulate, T* y, Index y_step) {
  detail::with_length(length, [&]<Index Length> { detail::dots<Length>(rows, a, step, x, x_step, accumulate, y, y_step); },
                      std::make_integer_sequence<Index, kLongest>());
}

/// y = A' x, or y += A' x.
template <class T>
void scaled_sum(Index rows, Index length, const T* a, Index step, const T* x, Index x_step, bool accumulate, T* y, Index y_step) {
  detail::with_length(length, [&]<Index Length> { detail::scaled_sum<Length>(rows, a, step, x, x_step, accumulate, y, y_step); },
                      std::make_integer_sequence<Index, kLongest>());
}

}  // namespace tdsl::rt::short_rows
