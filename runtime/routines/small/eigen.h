#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>

#include "runtime/plan/space/index.h"

// Eigenvectors of small symmetric matrices, for tasks that hold many of them. Matrices are row-major: element (i, j) of
// `a` is a[i * lead + j]. T is float or double. Signs are those of the routine on large matrices (ir/graph/graph.h).

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
