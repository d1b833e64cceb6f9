#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

#include "runtime/plan/space/index.h"

// Serial factorisations and solvers of small matrices, for tasks that hold many of them. Matrices are row-major:
// element (i, j) of `a` is a[i * lead + j], and `lead` is at least the number of columns. T is float or double.
// Functions that can fail return false then, and leave their results unspecified. Pivots, error cases and signs are
// those of the routines on large matrices (ir/graph/graph.h).

namespace tdsl::rt::small {

using plan::Index;

/// Memory for `count` elements: on the stack for matrices of up to 16 x 16 elements.
template <class T>
class Buffer {
 public:
  explicit Buffer(Index count) {
    if (static_cast<std::size_t>(count) > few_.size())
      many_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
    data_ = many_ ? many_.get() : few_.data();
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] T* data() const { return data_; }

 private:
  std::array<T, 256> few_;
  std::unique_ptr<T[]> many_;
  T* data_ = nullptr;
};

namespace detail {

template <class T>
void swap_rows(T* a, Index lead, Index columns, Index i, Index k) {
  if (i != k) std::swap_ranges(a + i * lead, a + i * lead + columns, a + k * lead);
}

/// Makes a(p, q) 0 by a rotation from both sides, on the lower triangle; `v` takes the rotation as well.
template <class T>
void rotate(T* a, Index n, Index lead, T* v, Index p, Index q) {
  const auto at = [&](Index i, Index j) -> T& { return i < j ? a[j * lead + i] : a[i * lead + j]; };
  const T x = at(p, q);
  const T theta = (at(q, q) - at(p, p)) / (2 * x);
  const T t = (theta < 0 ? T(-1) : T(1)) / (std::abs(theta) + std::hypot(theta, T(1)));
  const T c = 1 / std::sqrt(t * t + 1);
  const T s = t * c;
  at(p, p) -= t * x;
  at(q, q) += t * x;
  at(p, q) = 0;
  for (Index i = 0; i < n; ++i) {
    const T left = v[i * n + p];
    const T right = v[i * n + q];
    v[i * n + p] = c * left - s * right;
    v[i * n + q] = s * left + c * right;
    if (i == p || i == q) continue;
    T& first = at(i, p);
    T& second = at(i, q);
    const T old = first;
    first = c * old - s * second;
    second = s * old + c * second;
  }
}

/// 1 or -1: makes the largest component of column j positive, the first of those equal up to the square root of the
/// rounding unit.
template <class T>
T sign_of_column(const T* v, Index n, Index j) {
  T largest = 0;
  for (Index i = 0; i < n; ++i) largest = std::max(largest, std::abs(v[i * n + j]));
  const T threshold = largest * (1 - std::sqrt(std::numeric_limits<T>::epsilon()));
  for (Index i = 0; i < n; ++i) {
    if (std::abs(v[i * n + j]) >= threshold) return v[i * n + j] < 0 ? T(-1) : T(1);
  }
  return 1;
}

}  // namespace detail

/// L and U of n x n elements in place, rows exchanged for the largest pivots; `pivots[k]` is the row that row k was
/// exchanged with. False if a pivot is exactly 0, but factorised anyway.
template <class T>
[[nodiscard]] bool lu(T* a, Index n, Index lead, Index* pivots) {
  bool regular = true;
  for (Index k = 0; k < n; ++k) {
    Index chosen = k;
    for (Index i = k + 1; i < n; ++i) {
      if (std::abs(a[i * lead + k]) > std::abs(a[chosen * lead + k])) chosen = i;
    }
    pivots[k] = chosen;
    detail::swap_rows(a, lead, n, k, chosen);
    const T* row = a + k * lead;
    if (row[k] == 0) {
      regular = false;
      continue;
    }
    for (Index i = k + 1; i < n; ++i) {
      T* to = a + i * lead;
      const T factor = to[k] /= row[k];
      for (Index j = k + 1; j < n; ++j) to[j] -= factor * row[j];
    }
  }
  return regular;
}

/// Solves for the `columns` columns of x in place, with the result of lu() for a regular matrix.
template <class T>
void solve_factored(const T* a, Index n, Index lead, const Index* pivots, T* x, Index columns, Index x_lead) {
  for (Index k = 0; k < n; ++k) detail::swap_rows(x, x_lead, columns, k, pivots[k]);
  const auto subtract = [&](Index i, Index k) {
    const T factor = a[i * lead + k];
    for (Index j = 0; j < columns; ++j) x[i * x_lead + j] -= factor * x[k * x_lead + j];
  };
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < i; ++k) subtract(i, k);
  }
  for (Index i = n; i-- > 0;) {
    for (Index k = i + 1; k < n; ++k) subtract(i, k);
    for (Index j = 0; j < columns; ++j) x[i * x_lead + j] /= a[i * lead + i];
  }
}

/// The determinant from the result of lu().
template <class T>
[[nodiscard]] T determinant(const T* a, Index n, Index lead, const Index* pivots) {
  T product = 1;
  for (Index k = 0; k < n; ++k) product *= pivots[k] == k ? a[k * lead + k] : -a[k * lead + k];
  return product;
}

/// The lower factor in place, of the lower triangle; elements above become 0. False if it is not positive definite.
template <class T>
[[nodiscard]] bool cholesky(T* a, Index n, Index lead) {
  for (Index i = 0; i < n; ++i) {
    T* row = a + i * lead;
    for (Index j = 0; j <= i; ++j) {
      const T* other = a + j * lead;
      T sum = row[j];
      for (Index k = 0; k < j; ++k) sum -= row[k] * other[k];
      if (i == j && !(sum > 0)) return false;
      row[j] = i == j ? std::sqrt(sum) : sum / other[j];
    }
    std::fill(row + i + 1, row + n, T(0));
  }
  return true;
}

/// Eigenvalues of the lower triangle in ascending order, and eigenvectors as columns in place of the matrix, by
/// rotations (Jacobi's method). Elements must be finite. False without convergence.
template <class T>
[[nodiscard]] bool eigh(T* a, Index n, Index lead, T* values) {
  constexpr int kSweeps = 60;
  T largest = 0;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) largest = std::max(largest, std::abs(a[i * lead + j]));
  }
  const T negligible = largest * std::numeric_limits<T>::epsilon() / 4;
  const Buffer<T> vectors(n * n);
  T* v = vectors.data();
  std::fill(v, v + n * n, T(0));
  for (Index i = 0; i < n; ++i) v[i * n + i] = 1;
  bool rotates = true;
  for (int sweep = 0; rotates && sweep < kSweeps; ++sweep) {
    rotates = false;
    for (Index q = 1; q < n; ++q) {
      for (Index p = 0; p < q; ++p) {
        if (!(std::abs(a[q * lead + p]) > negligible)) continue;
        rotates = true;
        detail::rotate(a, n, lead, v, p, q);
      }
    }
  }
  const Buffer<Index> order(n);
  for (Index j = 0; j < n; ++j) {
    const T value = a[j * lead + j];
    Index k = j;
    for (; k > 0 && values[k - 1] > value; --k) {
      values[k] = values[k - 1];
      order.data()[k] = order.data()[k - 1];
    }
    values[k] = value;
    order.data()[k] = j;
  }
  for (Index j = 0; j < n; ++j) {
    const Index from = order.data()[j];
    const T sign = detail::sign_of_column(v, n, from);
    for (Index i = 0; i < n; ++i) a[i * lead + j] = sign * v[i * n + from];
  }
  return !rotates;
}

}  // namespace tdsl::rt::small
