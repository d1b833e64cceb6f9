#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "runtime/kernels/task.h"
#include "runtime/routines/algorithms/solve_kind.h"
#include "runtime/routines/kernels/columns.h"

// Single-rank kernels of factorisations and solvers, through LAPACK. The operation is one task: its output is never
// cut, and its operands are read whole. T is float or double, in lu, inverse and determinant also Complex of these.
// `place` is the source line reported for a singular operand. spectra.h has svd, eigh and eig.
//
// Several results are stacked in one output, so that one operation computes them all (k = min(m, n)):
//
//     lu (m + k) x (n + 1)   qr (m + k) x n   svd (m + 1 + k) x n   eigh, eig (n + 1) x n
//         | L | p |              | Q |             | U  |               | w |
//         | U |   |              | R |             | s  |               | V |
//                                                  | V' |
//
// L, Q, U and s may be narrower than the output; the rest is 0.

namespace tdsl::rt::routines::kernels {

template <class T>
bool is_finite(T x) {
  if constexpr (kIsComplex<T>) {
    return std::isfinite(x.re) && std::isfinite(x.im);
  } else {
    return std::isfinite(x);
  }
}

template <class T>
void require_finite(const Columns<T>& a, SourceLine place, const char* routine) {
  const bool finite = std::ranges::all_of(a.elements, [](T x) { return is_finite(x); });
  if (!finite) stop(place, routine, "the matrix has elements that are not finite");
}

/// LAPACK computes workspace sizes in 32 bits without checking for overflow.
inline void require_workspace(double elements, SourceLine place, const char* routine) {
  if (elements > static_cast<double>(std::numeric_limits<lapack_int>::max()))
    stop(place, routine, "the matrix is too large for the 32-bit integers of LAPACK");
}

/// The size returned by a LAPACK workspace query.
template <class T>
lapack_int asked(T answer) {
  if constexpr (kIsComplex<T>) {
    return asked(answer.re);
  } else {
    // f32 results are rounded, so a small margin is added.
    return static_cast<lapack_int>(static_cast<double>(answer) *
                                   (1 + 4 * static_cast<double>(std::numeric_limits<T>::epsilon()))) +
           1;
  }
}

/// Calls a LAPACK routine, `call(work, size, integers, count)`, with the workspace that it asks for; returns its info.
template <class T, class Call>
lapack_int with_workspace(const char* query, const Call& call) {
  T answer = 0;
  lapack_int count = 0;
  TDSL_CHECK(call(&answer, -1, &count, -1) == 0, query);
  std::vector<T> work(at(asked(answer)));
  std::vector<lapack_int> integers(at(std::max<lapack_int>(1, count)));
  return call(work.data(), static_cast<lapack_int>(work.size()), integers.data(),
              static_cast<lapack_int>(integers.size()));
}

template <class T>
struct Factored {
  Columns<T> matrix;
  std::vector<lapack_int> pivots;
  bool singular = false;
};

template <class T>
Factored<T> factored(Columns<T> a) {
  Factored<T> f{std::move(a), {}, false};
  f.pivots.resize(at(std::min(f.matrix.rows, f.matrix.columns)));
  f.singular = lapack::getrf<T>(f.matrix.m(), f.matrix.n(), f.matrix.data(), f.matrix.lead(), f.pivots.data()) > 0;
  return f;
}

/// The Cholesky factor of operand 0's lower triangle.
template <class T>
Kernel cholesky(SourceLine place) {
  return [place](const TaskArgs& t) {
    Columns<T> a = read<T>(t.inputs[0], place);
    if (lapack::potrf<T>(a.n(), a.data(), a.lead()) > 0) stop(place, "cholesky", "the matrix is not positive definite");
    write<T>(t.outputs[0], 0, 0, a.rows, a.columns, [&](Index i, Index j) { return j <= i ? a(i, j) : T(0); });
  };
}

template <class T>
Kernel inverse(SourceLine place) {
  return [place](const TaskArgs& t) {
    Factored<T> f = factored(read<T>(t.inputs[0], place));
    if (f.singular) singular(place, "inv");
    std::vector<T> work(at(64 * std::max<Index>(1, f.matrix.rows)));
    const lapack_int info = lapack::getri<T>(f.matrix.n(), f.matrix.data(), f.matrix.lead(), f.pivots.data(),
                                             work.data(), static_cast<lapack_int>(work.size()));
    TDSL_CHECK(info == 0, "getri inverts what getrf has factored");
    write(t.outputs[0], 0, 0, f.matrix);
  };
}

/// A scalar (rank 0).
template <class T>
Kernel determinant(SourceLine place) {
  return [place](const TaskArgs& t) {
    const Factored<T> f = factored(read<T>(t.inputs[0], place));
    T product = 1;
    for (Index k = 0; k < f.matrix.rows; ++k) {
      product *= f.matrix(k, k);
      if (f.pivots[at(k)] != k + 1) product = -product;
    }
    *reinterpret_cast<T*>(t.outputs[0].data) = product;
  };
}

/// x becomes the solution of a x = x.
template <class T>
void solve_general(Columns<T> a, Columns<T>& x, SourceLine place) {
  const Factored<T> f = factored(std::move(a));
  if (f.singular) singular(place, "solve");
  const lapack_int info = lapack::getrs<T>(f.matrix.n(), x.n(), f.matrix.elements.data(), f.matrix.lead(),
                                           f.pivots.data(), x.data(), x.lead());
  TDSL_CHECK(info == 0, "getrs solves what getrf has factored");
}

template <class T>
void solve_positive(Columns<T> a, Columns<T>& x, SourceLine place) {
  if (lapack::potrf<T>(a.n(), a.data(), a.lead()) > 0) stop(place, "solve", "the matrix is not positive definite");
  const lapack_int info = lapack::potrs<T>(a.n(), x.n(), a.data(), a.lead(), x.data(), x.lead());
  TDSL_CHECK(info == 0, "potrs solves what potrf has factored");
}

template <class T>
void solve_triangle(Columns<T> a, Columns<T>& x, bool lower, SourceLine place) {
  if (lapack::trtrs<T>(lower, a.n(), x.n(), a.data(), a.lead(), x.data(), x.lead()) > 0) singular(place, "solve");
}

/// Solves operand 0 x = operand 1 (a vector or the columns of a matrix).
template <class T>
Kernel solve(SourceLine place, SolveKind kind) {
  return [place, kind](const TaskArgs& t) {
    Columns<T> x = read<T>(t.inputs[1], place);
    Columns<T> a = read<T>(t.inputs[0], place);
    switch (kind) {
      case SolveKind::kGeneral: solve_general(std::move(a), x, place); break;
      case SolveKind::kPositive: solve_positive(std::move(a), x, place); break;
      case SolveKind::kLower:
      case SolveKind::kUpper: solve_triangle(std::move(a), x, kind == SolveKind::kLower, place); break;
    }
    write(t.outputs[0], 0, 0, x);
  };
}

/// The minimum-norm least-squares solution; singular values up to max(m, n) eps s0 are treated as 0.
template <class T>
Kernel least_squares(SourceLine place) {
  return [place](const TaskArgs& t) {
    Columns<T> a = read<T>(t.inputs[0], place);
    const Columns<T> b = read<T>(t.inputs[1], place);
    require_finite(a, place, "lstsq");
    require_finite(b, place, "lstsq");
    const Index k = std::min(a.rows, a.columns);
    // LAPACK reads b from and returns x in one array of max(m, n) rows.
    Columns<T> x(std::max<Index>({a.rows, a.columns, 1}), b.columns);
    for (Index j = 0; j < b.columns; ++j) {
      for (Index i = 0; i < b.rows; ++i) x(i, j) = b(i, j);
    }
    if (k == 0) {
      std::fill(x.elements.begin(), x.elements.end(), T(0));
    } else {
      const T rcond = std::numeric_limits<T>::epsilon() * static_cast<T>(std::max(a.rows, a.columns));
      std::vector<T> s(at(k));
      lapack_int rank = 0;
      const auto call = [&](T* work, lapack_int size, lapack_int* integers, lapack_int) {
        return lapack::gelsd<T>(a.m(), a.n(), x.n(), a.data(), a.lead(), x.data(), x.lead(), s.data(), rcond, &rank,
                                work, size, integers);
      };
      if (with_workspace<T>("gelsd's workspace query", call) > 0) stop(place, "lstsq", "no convergence");
    }
    write<T>(t.outputs[0], 0, 0, a.columns, x.columns, [&](Index i, Index j) { return x(i, j); });
  };
}

template <class T>
Kernel lu(SourceLine place) {
  return [place](const TaskArgs& t) {
    const Factored<T> f = factored(read<T>(t.inputs[0], place));
    const Columns<T>& a = f.matrix;
    const Index k = std::min(a.rows, a.columns);
    std::vector<Index> p(at(a.rows));
    std::iota(p.begin(), p.end(), Index{0});
    for (Index i = 0; i < k; ++i) std::swap(p[at(i)], p[at(f.pivots[at(i)] - 1)]);
    const Operand& out = t.outputs[0];
    fill<T>(out, 0);
    write<T>(out, 0, 0, a.rows, k, [&](Index i, Index j) { return i == j ? T(1) : j < i ? a(i, j) : T(0); });
    write<T>(out, 0, a.columns, a.rows, 1, [&](Index i, Index) { return static_cast<T>(p[at(i)]); });
    write<T>(out, a.rows, 0, k, a.columns, [&](Index i, Index j) { return i <= j ? a(i, j) : T(0); });
  };
}

/// diag(R) >= 0.
template <class T>
Kernel qr(SourceLine place) {
  return [place](const TaskArgs& t) {
    Columns<T> a = read<T>(t.inputs[0], place);
    const Operand& out = t.outputs[0];
    fill<T>(out, 0);
    const Columns<T> r = reduce_to_q(a);
    write<T>(out, 0, 0, a.rows, r.rows, [&](Index i, Index j) { return a(i, j); });
    write(out, a.rows, 0, r);
  };
}

}  // namespace tdsl::rt::routines::kernels
