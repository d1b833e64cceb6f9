#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/check.h"
#include "runtime/complex.h"
#include "runtime/kernels/task.h"

// Conversion between a task's row-major operands and LAPACK's column-major matrices. Internal to this folder.

namespace tdsl::rt::routines::kernels {

// LAPACK routines, overloaded for the float types, getrf and getri also for complex numbers: `lapack::getrf(m, n, a,
// lda, pivots)`. spectra.h has those of svd, eigh and eig. Matrices are column-major;
// the result is LAPACK's `info`. Calls the Fortran symbols, which every LAPACK provides; OpenBLAS packages lack the C
// interface. Callers provide workspaces; a size of -1 queries the optimal size, which is returned in work[0].

using lapack_int = std::int32_t;  ///< Fortran's INTEGER

namespace lapack {

/// Hidden length of a CHARACTER argument, passed after all others.
using TextLength = std::size_t;

#define TDSL_LAPACK_ELIMINATION(p)                                                                       \
  void p##getrf_(const lapack_int*, const lapack_int*, T*, const lapack_int*, lapack_int*, lapack_int*); \
  void p##getri_(const lapack_int*, T*, const lapack_int*, const lapack_int*, T*, const lapack_int*, lapack_int*);

#define TDSL_LAPACK_NAMES(p)                                                                                           \
  TDSL_LAPACK_ELIMINATION(p)                                                                                           \
  void p##potrf_(const char*, const lapack_int*, T*, const lapack_int*, lapack_int*, TextLength);                      \
  void p##getrs_(const char*, const lapack_int*, const lapack_int*, const T*, const lapack_int*, const lapack_int*,    \
                 T*, const lapack_int*, lapack_int*, TextLength);                                                      \
  void p##potrs_(const char*, const lapack_int*, const lapack_int*, const T*, const lapack_int*, T*,                   \
                 const lapack_int*, lapack_int*, TextLength);                                                          \
  void p##trtrs_(const char*, const char*, const char*, const lapack_int*, const lapack_int*, const T*,                \
                 const lapack_int*, T*, const lapack_int*, lapack_int*, TextLength, TextLength, TextLength);           \
  void p##geqrf_(const lapack_int*, const lapack_int*, T*, const lapack_int*, T*, T*, const lapack_int*, lapack_int*); \
  void p##orgqr_(const lapack_int*, const lapack_int*, const lapack_int*, T*, const lapack_int*, const T*, T*,         \
                 const lapack_int*, lapack_int*);                                                                      \
  void p##gelsd_(const lapack_int*, const lapack_int*, const lapack_int*, T*, const lapack_int*, T*,                   \
                 const lapack_int*, T*, const T*, lapack_int*, T*, const lapack_int*, lapack_int*, lapack_int*);

namespace f64 {
using T = double;
extern "C" {
TDSL_LAPACK_NAMES(d)
}
}  // namespace f64
namespace f32 {
using T = float;
extern "C" {
TDSL_LAPACK_NAMES(s)
}
}  // namespace f32
namespace c128 {
using T = Complex<double>;
extern "C" {
TDSL_LAPACK_ELIMINATION(z)
}
}  // namespace c128
namespace c64 {
using T = Complex<float>;
extern "C" {
TDSL_LAPACK_ELIMINATION(c)
}
}  // namespace c64
#undef TDSL_LAPACK_NAMES
#undef TDSL_LAPACK_ELIMINATION

#define TDSL_LAPACK(name, parameters, call)  \
  template <class T>                         \
  [[nodiscard]] lapack_int name parameters { \
    lapack_int info = 0;                     \
    if constexpr (sizeof(T) == 8) {          \
      f64::d##name##_ call;                  \
    } else {                                 \
      f32::s##name##_ call;                  \
    }                                        \
    return info;                             \
  }

#define TDSL_LAPACK_ALL(name, parameters, call)               \
  template <class T>                                          \
  [[nodiscard]] lapack_int name parameters {                  \
    lapack_int info = 0;                                      \
    if constexpr (std::is_same_v<T, double>) {                \
      f64::d##name##_ call;                                   \
    } else if constexpr (std::is_same_v<T, float>) {          \
      f32::s##name##_ call;                                   \
    } else if constexpr (std::is_same_v<T, Complex<float>>) { \
      c64::c##name##_ call;                                   \
    } else {                                                  \
      c128::z##name##_ call;                                  \
    }                                                         \
    return info;                                              \
  }

TDSL_LAPACK(potrf, (lapack_int n, T* a, lapack_int lda), ("L", &n, a, &lda, &info, 1))
TDSL_LAPACK_ALL(getrf, (lapack_int m, lapack_int n, T* a, lapack_int lda, lapack_int* pivots),
                (&m, &n, a, &lda, pivots, &info))
TDSL_LAPACK(getrs,
            (lapack_int n, lapack_int columns, const T* a, lapack_int lda, const lapack_int* pivots, T* b,
             lapack_int ldb),
            ("N", &n, &columns, a, &lda, pivots, b, &ldb, &info, 1))
TDSL_LAPACK(potrs, (lapack_int n, lapack_int columns, const T* a, lapack_int lda, T* b, lapack_int ldb),
            ("L", &n, &columns, a, &lda, b, &ldb, &info, 1))
TDSL_LAPACK(trtrs, (bool lower, lapack_int n, lapack_int columns, const T* a, lapack_int lda, T* b, lapack_int ldb),
            (lower ? "L" : "U", "N", "N", &n, &columns, a, &lda, b, &ldb, &info, 1, 1, 1))
TDSL_LAPACK_ALL(getri, (lapack_int n, T* a, lapack_int lda, const lapack_int* pivots, T* work, lapack_int size),
                (&n, a, &lda, pivots, work, &size, &info))
TDSL_LAPACK(geqrf, (lapack_int m, lapack_int n, T* a, lapack_int lda, T* tau, T* work, lapack_int size),
            (&m, &n, a, &lda, tau, work, &size, &info))
TDSL_LAPACK(orgqr,
            (lapack_int m, lapack_int n, lapack_int k, T* a, lapack_int lda, const T* tau, T* work, lapack_int size),
            (&m, &n, &k, a, &lda, tau, work, &size, &info))
TDSL_LAPACK(gelsd,
            (lapack_int m, lapack_int n, lapack_int columns, T* a, lapack_int lda, T* b, lapack_int ldb, T* s, T rcond,
             lapack_int* rank, T* work, lapack_int size, lapack_int* integers),
            (&m, &n, &columns, a, &lda, b, &ldb, s, &rcond, rank, work, &size, integers, &info))

#undef TDSL_LAPACK
#undef TDSL_LAPACK_ALL

}  // namespace lapack

[[nodiscard]] inline std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// A column-major matrix for LAPACK.
template <class T>
struct Columns {
  Index rows = 0;
  Index columns = 0;
  std::vector<T> elements;

  Columns(Index r, Index c) : rows(r), columns(c), elements(at(r * c)) {}
  T& operator()(Index i, Index j) { return elements[at(j * rows + i)]; }
  const T& operator()(Index i, Index j) const { return elements[at(j * rows + i)]; }
  T* data() { return elements.data(); }
  [[nodiscard]] lapack_int m() const { return static_cast<lapack_int>(rows); }
  [[nodiscard]] lapack_int n() const { return static_cast<lapack_int>(columns); }
  /// Leading dimension, which LAPACK requires to be at least 1.
  [[nodiscard]] lapack_int lead() const { return std::max<lapack_int>(1, m()); }
};

/// Calls f(i, j) for all i < rows, j < columns, in square blocks, so that both sides of a transposition stay in cache.
template <class F>
void for_each_element(Index rows, Index columns, const F& f) {
  constexpr Index kEdge = 32;
  for (Index i0 = 0; i0 < rows; i0 += kEdge) {
    for (Index j0 = 0; j0 < columns; j0 += kEdge) {
      for (Index i = i0; i < std::min(rows, i0 + kEdge); ++i) {
        for (Index j = j0; j < std::min(columns, j0 + kEdge); ++j) f(i, j);
      }
    }
  }
}

/// A whole operand; a vector is one column; with more than two dimensions, all but the last form the rows.
template <class T>
Columns<T> read(const Operand& operand, SourceLine place) {
  const int rank = operand.box.rank;
  const Index columns = rank == 1 ? 1 : operand.box[rank - 1].size();
  Index rows = 1;
  for (int d = 0; d < std::max(1, rank - 1); ++d) rows *= operand.box[d].size();
  // Sizes of packed outputs and workspaces are LAPACK integers too.
  constexpr Index kLargest = std::numeric_limits<lapack_int>::max() / 4;
  if (rows > kLargest || columns > kLargest)
    throw RunError(place, "a matrix factorised on one rank has at most 2^29 rows and columns [not-supported]");
  Columns<T> result(rows, columns);
  const T* data = reinterpret_cast<const T*>(operand.data);
  // Boxes are dense, so rows are equidistant across all leading dimensions.
  const Index stride = rank == 1 ? operand.stride[0] : operand.stride[at(rank - 2)];
  for_each_element(rows, columns, [&](Index i, Index j) { result(i, j) = data[i * stride + j]; });
  return result;
}

/// Writes element(i, j) for i < rows, j < columns to the output, starting at (row, column).
template <class T, class F>
void write(const Operand& out, Index row, Index column, Index rows, Index columns, const F& element) {
  T* data = reinterpret_cast<T*>(out.data);
  // As in read(): with more than two dimensions, all but the last form the rows.
  const Index stride = out.box.rank == 0 ? 0 : out.stride[at(std::max(0, out.box.rank - 2))];
  for_each_element(rows, columns, [&](Index i, Index j) { data[(row + i) * stride + column + j] = element(i, j); });
}
template <class T>
void write(const Operand& out, Index row, Index column, const Columns<T>& m) {
  write<T>(out, row, column, m.rows, m.columns, [&](Index i, Index j) { return m(i, j); });
}

/// A matrix that the routine cannot treat. `which` tells the matrix of a batch.
struct NoSolution : RunError {
  NoSolution(SourceLine its_place, const char* its_routine, const char* its_reason, const std::string& which = "")
      : RunError(its_place, std::string(its_routine) + ": " + its_reason + which + " [no-solution]"),
        place(its_place),
        routine(its_routine),
        reason(its_reason) {}

  SourceLine place;
  const char* routine;
  const char* reason;
};

[[noreturn]] inline void stop(SourceLine place, const char* routine, const char* what) {
  throw NoSolution(place, routine, what);
}
[[noreturn]] inline void singular(SourceLine place, const char* routine) {
  stop(place, routine, "the matrix is singular");
}

/// If requested, Q overwrites the matrix (its first k columns); R is separate, with diag(R) >= 0; k = min(rows,
/// columns).
template <class T>
Columns<T> reduce_to_q(Columns<T>& a, bool wants_q = true) {
  const Index k = std::min(a.rows, a.columns);
  const auto k_int = static_cast<lapack_int>(k);
  std::vector<T> tau(at(std::max<Index>(1, k)));
  std::vector<T> work(at(64 * std::max<Index>(1, a.columns)));
  const auto size = static_cast<lapack_int>(work.size());
  TDSL_CHECK(lapack::geqrf<T>(a.m(), a.n(), a.data(), a.lead(), tau.data(), work.data(), size) == 0, "geqrf");
  Columns<T> r(k, a.columns);
  std::vector<T> sign(at(k));
  for (Index i = 0; i < k; ++i) sign[at(i)] = a(i, i) < 0 ? T(-1) : T(1);
  for (Index j = 0; j < a.columns; ++j) {
    for (Index i = 0; i < k && i <= j; ++i) r(i, j) = sign[at(i)] * a(i, j);
  }
  if (!wants_q) return r;
  TDSL_CHECK(lapack::orgqr<T>(a.m(), k_int, k_int, a.data(), a.lead(), tau.data(), work.data(), size) == 0, "orgqr");
  for (Index j = 0; j < k; ++j) {
    for (Index i = 0; i < a.rows; ++i) a(i, j) *= sign[at(j)];
  }
  return r;
}

}  // namespace tdsl::rt::routines::kernels
