#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "runtime/kernels/elements.h"
#include "runtime/routines/small/matrices.h"

// Routines on whole small tensors inside one task: `rt::small::solve(place(7), A, b, x);`. All operands are read before
// the first result is written, so a result may be an operand. `place` is the source line of the call.

namespace tdsl::rt::small {

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

/// A copy of a square matrix, with room for its pivots.
template <class T>
struct Square {
  template <class From>
  explicit Square(const Elements<From, 2>& m) : n(m.extent[0]), elements(n * n), pivots(n) {
    copy_rows(m.data, m.stride[0], elements.data(), n, n, n);
  }
  [[nodiscard]] bool factorise() const { return lu(elements.data(), n, n, pivots.data()); }

  Index n;
  Buffer<T> elements;
  Buffer<Index> pivots;
};

template <class T, int R>
void write(const Elements<T, R>& to, const T* from, Index n) {
  copy_rows(from, n, to.data, row_stride(to), n, n);
}

}  // namespace detail

template <class A, class B, class X>
void solve(SourceLine place, const A& a, const B& b, const X& x) {
  const detail::Square<detail::ElementOf<X>> f(a);
  if (!f.factorise()) stop(place, "solve: the matrix is singular [no-solution]");
  const Index columns = detail::columns(x);
  const Index lead = detail::row_stride(x);
  detail::copy_rows(b.data, detail::row_stride(b), x.data, lead, f.n, columns);
  solve_factored(f.elements.data(), f.n, f.n, f.pivots.data(), x.data, columns, lead);
}

template <class A, class X>
void inv(SourceLine place, const A& a, const X& x) {
  const detail::Square<detail::ElementOf<X>> f(a);
  if (!f.factorise()) stop(place, "inv: the matrix is singular [no-solution]");
  for (Index i = 0; i < f.n; ++i) {
    for (Index j = 0; j < f.n; ++j) x(i, j) = i == j ? 1 : 0;
  }
  solve_factored(f.elements.data(), f.n, f.n, f.pivots.data(), x.data, f.n, detail::row_stride(x));
}

template <class A>
[[nodiscard]] auto det(const A& a) {
  const detail::Square<detail::ElementOf<A>> f(a);
  static_cast<void>(f.factorise());
  return determinant(f.elements.data(), f.n, f.n, f.pivots.data());
}

template <class A, class L>
void cholesky(SourceLine place, const A& a, const L& l) {
  const detail::Square<detail::ElementOf<L>> f(a);
  if (!small::cholesky(f.elements.data(), f.n, f.n))
    stop(place, "cholesky: the matrix is not positive definite [no-solution]");
  detail::write(l, f.elements.data(), f.n);
}

template <class A, class W, class V>
void eigh(SourceLine place, const A& a, const W& values, const V& vectors) {
  const detail::Square<detail::ElementOf<V>> f(a);
  const auto* m = f.elements.data();
  for (Index i = 0; i < f.n; ++i) {
    for (Index j = 0; j <= i; ++j) {
      if (!std::isfinite(m[i * f.n + j]))
        stop(place, "eigh: the matrix has elements that are not finite [no-solution]");
    }
  }
  if (!small::eigh(f.elements.data(), f.n, f.n, values.data)) stop(place, "eigh: no convergence [no-solution]");
  detail::write(vectors, f.elements.data(), f.n);
}

}  // namespace tdsl::rt::small
