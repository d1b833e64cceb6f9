#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "runtime/plan/space/index.h"

// Factorisations of small matrices without memory of their own, for one matrix (L = 1: row-major, `lead` elements from
// row to row) or L matrices in lanes: element (i, j) of matrix l is a[(i * lead + j) * L + l]. Lanes do not affect each
// other, and every lane has the operations of one matrix in the same order, so bits do not depend on L. T is float or
// double. Status arrays have an element per lane.

namespace tdsl::rt::small {

using plan::Index;

/// f(l) for every lane.
template <int L, class F>
[[gnu::always_inline]] inline void each_lane(const F& f) {
#pragma omp simd
  for (int l = 0; l < L; ++l) f(l);
}

/// L and U in place, with partial pivoting: `pivots[k * L + l]` is the row that was exchanged with row k, the first one
/// of largest magnitude. `singular`: some pivot is exactly 0; its column of L is 0.
template <class T, int L>
[[gnu::always_inline]] inline void lu(T* a, Index n, Index lead, std::int32_t* pivots, bool* singular) {
  for (int l = 0; l < L; ++l) singular[l] = false;
  for (Index k = 0; k < n; ++k) {
    T* const pivot = a + (k * lead + k) * L;
    T best[L];
    T place[L];  // row numbers of the elements' width
    each_lane<L>([&](int l) {
      best[l] = std::abs(pivot[l]);
      place[l] = static_cast<T>(k);
    });
    for (Index i = k + 1; i < n; ++i) {
      const T* const x = a + (i * lead + k) * L;
      each_lane<L>([&](int l) {
        const T size = std::abs(x[l]);
        const bool larger = size > best[l];
        best[l] = larger ? size : best[l];
        place[l] = larger ? static_cast<T>(i) : place[l];
      });
    }
    for (int l = 0; l < L; ++l) {
      const auto row = static_cast<Index>(place[l]);
      pivots[k * L + l] = static_cast<std::int32_t>(row);
      if (row == k) continue;
      for (Index j = 0; j < n; ++j) std::swap(a[(k * lead + j) * L + l], a[(row * lead + j) * L + l]);
    }
    for (int l = 0; l < L; ++l) singular[l] = singular[l] || pivot[l] == 0;
    for (Index i = k + 1; i < n; ++i) {
      T* const x = a + (i * lead + k) * L;
      T factor[L];
      each_lane<L>([&](int l) {
        factor[l] = pivot[l] == 0 ? T(0) : x[l] / pivot[l];
        x[l] = factor[l];
      });
      for (Index j = k + 1; j < n; ++j) {
        T* const y = a + (i * lead + j) * L;
        const T* const u = a + (k * lead + j) * L;
        each_lane<L>([&](int l) { y[l] -= factor[l] * u[l]; });
      }
    }
  }
}

/// The product of U's diagonal, with the sign of the exchanges.
template <class T, int L>
[[gnu::always_inline]] inline void determinant(const T* a, Index n, Index lead, const std::int32_t* pivots, T* value) {
  for (int l = 0; l < L; ++l) value[l] = 1;
  for (Index k = 0; k < n; ++k) {
    for (int l = 0; l < L; ++l) {
      value[l] *= a[(k * lead + k) * L + l];
      if (pivots[k * L + l] != k) value[l] = -value[l];
    }
  }
}

/// Exchanges the rows of `columns` columns as `lu` did.
template <class T, int L>
[[gnu::always_inline]] inline void exchange_rows(T* b, Index n, Index columns, Index lead, const std::int32_t* pivots) {
  for (Index k = 0; k < n; ++k) {
    for (int l = 0; l < L; ++l) {
      const Index row = pivots[k * L + l];
      if (row == k) continue;
      for (Index j = 0; j < columns; ++j) std::swap(b[(k * lead + j) * L + l], b[(row * lead + j) * L + l]);
    }
  }
}

/// The lower Cholesky factor in place of the lower triangle; the upper one is neither read nor written.
template <class T, int L>
[[gnu::always_inline]] inline void cholesky(T* a, Index n, Index lead, bool* positive) {
  for (int l = 0; l < L; ++l) positive[l] = true;
  for (Index j = 0; j < n; ++j) {
    T* const diagonal = a + (j * lead + j) * L;
    for (Index k = 0; k < j; ++k) {
      const T* const x = a + (j * lead + k) * L;
      each_lane<L>([&](int l) { diagonal[l] -= x[l] * x[l]; });
    }
    for (int l = 0; l < L; ++l) positive[l] = positive[l] && diagonal[l] > 0;
    each_lane<L>([&](int l) { diagonal[l] = std::sqrt(diagonal[l]); });
    for (Index i = j + 1; i < n; ++i) {
      T* const y = a + (i * lead + j) * L;
      for (Index k = 0; k < j; ++k) {
        const T* const x = a + (i * lead + k) * L;
        const T* const z = a + (j * lead + k) * L;
        each_lane<L>([&](int l) { y[l] -= x[l] * z[l]; });
      }
      each_lane<L>([&](int l) { y[l] /= diagonal[l]; });
    }
  }
}

/// A triangle of a matrix and its use.
struct Triangle {
  bool lower = true;
  bool transposed = false;  ///< the matrix is the triangle's transpose
  bool unit = false;        ///< its diagonal is 1, whatever is stored
};

/// Overwrites b, n rows of `columns` columns, with the solution for that triangle of a.
template <class T, int L>
[[gnu::always_inline]] inline void substitute(const Triangle& triangle, const T* a, Index n, Index lead, T* b,
                                              Index columns, Index b_lead) {
  const bool forwards = triangle.lower != triangle.transposed;
  const Index down = triangle.transposed ? 1 : lead;
  const Index right = triangle.transposed ? lead : 1;
  for (Index step = 0; step < n; ++step) {
    const Index i = forwards ? step : n - 1 - step;
    const Index lo = forwards ? 0 : i + 1;
    const Index hi = forwards ? i : n;
    for (Index j = 0; j < columns; ++j) {
      T* const x = b + (i * b_lead + j) * L;
      for (Index k = lo; k < hi; ++k) {
        const T* const factor = a + (i * down + k * right) * L;
        const T* const known = b + (k * b_lead + j) * L;
        each_lane<L>([&](int l) { x[l] -= factor[l] * known[l]; });
      }
      if (triangle.unit) continue;
      const T* const diagonal = a + (i * lead + i) * L;
      each_lane<L>([&](int l) { x[l] /= diagonal[l]; });
    }
  }
}

}  // namespace tdsl::rt::small
