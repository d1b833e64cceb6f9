#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "runtime/kernels/elements.h"
#include "runtime/routines/algorithms/solve_kind.h"
#include "runtime/routines/small/eigen.h"
#include "runtime/routines/small/factor.h"

// Routines on whole small tensors inside one task: `rt::small::solve(place(7), A, b, x);`. All operands are read before
// the first result is written, so a result may be an operand. `place` is the source line of the call.

namespace tdsl::rt::small {

using routines::SolveKind;

namespace detail {

template <class M>
using ElementOf = std::remove_cvref_t<decltype(*std::declval<M>().data)>;

/// The distance between rows; vectors are one column.
template <class T, int R>
[[nodiscard]] Index row_stride(const Elements<T, R>& m) {
  return R == 1 ? 1 : m.stride[0];
}
template <class T, int R>
[[nodiscard]] Index columns(const Elements<T, R>& m) {
  return R == 1 ? 1 : m.extent[static_cast<std::size_t>(R - 1)];
}

template <class From, class To>
void copy_rows(const From* from, Index from_lead, To* to, Index to_lead, Index rows, Index columns) {
  if (from == to) return;
  for (Index i = 0; i < rows; ++i) std::copy_n(from + i * from_lead, columns, to + i * to_lead);
}

/// A copy of a square matrix, with room for its factors.
template <class T>
struct Square {
  template <class From>
  explicit Square(const Elements<From, 2>& m) : n(m.extent[0]), elements(n * n), pivots(n) {
    copy_rows(m.data, m.stride[0], a(), n, n, n);
  }
  [[nodiscard]] T* a() const { return elements.data(); }

  /// False if the matrix has no factors of that kind.
  [[nodiscard]] bool factorise(SolveKind kind) const {
    bool failed = false;
    bool positive = true;
    switch (kind) {
      case SolveKind::kGeneral: lu<T, 1>(a(), n, n, pivots.data(), &failed); break;
      case SolveKind::kPositive: small::cholesky<T, 1>(a(), n, n, &positive); break;
      case SolveKind::kLower:
      case SolveKind::kUpper:
        for (Index i = 0; i < n; ++i) failed = failed || a()[i * n + i] == 0;
    }
    return !failed && positive;
  }
  /// Overwrites the right sides with the solutions.
  void solve(SolveKind kind, T* x, Index columns, Index lead) const {
    const auto apply = [&](const Triangle& triangle) { substitute<T, 1>(triangle, a(), n, n, x, columns, lead); };
    if (kind == SolveKind::kGeneral) {
      exchange_rows<T, 1>(x, n, columns, lead, pivots.data());
      apply({.lower = true, .transposed = false, .unit = true});
    }
    if (kind == SolveKind::kLower || kind == SolveKind::kPositive) apply({.lower = true});
    if (kind == SolveKind::kUpper || kind == SolveKind::kGeneral) apply({.lower = false});
    if (kind == SolveKind::kPositive) apply({.lower = true, .transposed = true});
  }

  Index n;
  Buffer<T> elements;
  Buffer<std::int32_t> pivots;
};

}  // namespace detail

template <class A, class B, class X>
void solve(SourceLine place, const A& a, const B& b, const X& x, SolveKind kind = SolveKind::kGeneral) {
  const detail::Square<detail::ElementOf<X>> f(a);
  if (!f.factorise(kind))
    stop(place, kind == SolveKind::kPositive ? "solve: the matrix is not positive definite [no-solution]"
                                             : "solve: the matrix is singular [no-solution]");
  detail::copy_rows(b.data, detail::row_stride(b), x.data, detail::row_stride(x), f.n, detail::columns(x));
  f.solve(kind, x.data, detail::columns(x), detail::row_stride(x));
}

template <class A, class X>
void inv(SourceLine place, const A& a, const X& x) {
  using T = detail::ElementOf<X>;
  const detail::Square<T> f(a);
  if (!f.factorise(SolveKind::kGeneral)) stop(place, "inv: the matrix is singular [no-solution]");
  for (Index i = 0; i < f.n; ++i) {
    for (Index j = 0; j < f.n; ++j) x(i, j) = i == j ? T(1) : T(0);
  }
  f.solve(SolveKind::kGeneral, x.data, f.n, detail::row_stride(x));
}

template <class A>
[[nodiscard]] auto det(const A& a) {
  using T = detail::ElementOf<A>;
  const detail::Square<T> f(a);
  static_cast<void>(f.factorise(SolveKind::kGeneral));
  T value = 1;
  determinant<T, 1>(f.a(), f.n, f.n, f.pivots.data(), &value);
  return value;
}

template <class A, class L>
void cholesky(SourceLine place, const A& a, const L& l) {
  using T = detail::ElementOf<L>;
  const detail::Square<T> f(a);
  if (!f.factorise(SolveKind::kPositive)) stop(place, "cholesky: the matrix is not positive definite [no-solution]");
  for (Index i = 0; i < f.n; ++i) {
    for (Index j = 0; j < f.n; ++j) l(i, j) = j <= i ? f.a()[i * f.n + j] : T(0);
  }
}

template <class A, class W, class V>
void eigh(SourceLine place, const A& a, const W& values, const V& vectors) {
  const detail::Square<detail::ElementOf<V>> f(a);
  for (Index i = 0; i < f.n; ++i) {
    for (Index j = 0; j <= i; ++j) {
      if (!std::isfinite(f.a()[i * f.n + j]))
        stop(place, "eigh: the matrix has elements that are not finite [no-solution]");
    }
  }
  if (!small::eigh(f.a(), f.n, f.n, values.data)) stop(place, "eigh: no convergence [no-solution]");
  detail::copy_rows(f.a(), f.n, vectors.data, detail::row_stride(vectors), f.n, f.n);
}

}  // namespace tdsl::rt::small
