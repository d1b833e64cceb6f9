#pragma once

#include <cstddef>
#include <cstdint>

// LAPACK routines, overloaded for both float types: `lapack::getrf(m, n, a, lda, pivots)`. Matrices are column-major;
// the result is LAPACK's `info`. Calls the Fortran symbols, which every LAPACK provides; OpenBLAS packages lack the C
// interface. Callers provide workspaces; a size of -1 queries the optimal size, which is returned in work[0].

namespace tdsl::rt::routines::kernels {

using lapack_int = std::int32_t;  ///< Fortran's INTEGER

namespace lapack {

/// Hidden length of a CHARACTER argument, passed after all others.
using TextLength = std::size_t;

#define TDSL_LAPACK_NAMES(p)                                                                                           \
  void p##potrf_(const char*, const lapack_int*, T*, const lapack_int*, lapack_int*, TextLength);                      \
  void p##getrf_(const lapack_int*, const lapack_int*, T*, const lapack_int*, lapack_int*, lapack_int*);               \
  void p##getrs_(const char*, const lapack_int*, const lapack_int*, const T*, const lapack_int*, const lapack_int*,    \
                 T*, const lapack_int*, lapack_int*, TextLength);                                                      \
  void p##getri_(const lapack_int*, T*, const lapack_int*, const lapack_int*, T*, const lapack_int*, lapack_int*);     \
  void p##geqrf_(const lapack_int*, const lapack_int*, T*, const lapack_int*, T*, T*, const lapack_int*, lapack_int*); \
  void p##orgqr_(const lapack_int*, const lapack_int*, const lapack_int*, T*, const lapack_int*, const T*, T*,         \
                 const lapack_int*, lapack_int*);                                                                      \
  void p##gesdd_(const char*, const lapack_int*, const lapack_int*, T*, const lapack_int*, T*, T*, const lapack_int*,  \
                 T*, const lapack_int*, T*, const lapack_int*, lapack_int*, lapack_int*, TextLength);                  \
  void p##syevd_(const char*, const char*, const lapack_int*, T*, const lapack_int*, T*, T*, const lapack_int*,        \
                 lapack_int*, const lapack_int*, lapack_int*, TextLength, TextLength);                                 \
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
#undef TDSL_LAPACK_NAMES

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

TDSL_LAPACK(potrf, (lapack_int n, T* a, lapack_int lda), ("L", &n, a, &lda, &info, 1))
TDSL_LAPACK(getrf, (lapack_int m, lapack_int n, T* a, lapack_int lda, lapack_int* pivots),
            (&m, &n, a, &lda, pivots, &info))
TDSL_LAPACK(getrs,
            (lapack_int n, lapack_int columns, const T* a, lapack_int lda, const lapack_int* pivots, T* b,
             lapack_int ldb),
            ("N", &n, &columns, a, &lda, pivots, b, &ldb, &info, 1))
TDSL_LAPACK(getri, (lapack_int n, T* a, lapack_int lda, const lapack_int* pivots, T* work, lapack_int size),
            (&n, a, &lda, pivots, work, &size, &info))
TDSL_LAPACK(geqrf, (lapack_int m, lapack_int n, T* a, lapack_int lda, T* tau, T* work, lapack_int size),
            (&m, &n, a, &lda, tau, work, &size, &info))
TDSL_LAPACK(orgqr,
            (lapack_int m, lapack_int n, lapack_int k, T* a, lapack_int lda, const T* tau, T* work, lapack_int size),
            (&m, &n, &k, a, &lda, tau, work, &size, &info))
TDSL_LAPACK(gesdd,
            (lapack_int m, lapack_int n, T* a, lapack_int lda, T* s, T* u, lapack_int ldu, T* vt, lapack_int ldvt,
             T* work, lapack_int size, lapack_int* integers),
            ("S", &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &size, integers, &info, 1))
TDSL_LAPACK(syevd,
            (lapack_int n, T* a, lapack_int lda, T* w, T* work, lapack_int size, lapack_int* integers,
             lapack_int count),
            ("V", "L", &n, a, &lda, w, work, &size, integers, &count, &info, 1, 1))
TDSL_LAPACK(gelsd,
            (lapack_int m, lapack_int n, lapack_int columns, T* a, lapack_int lda, T* b, lapack_int ldb, T* s, T rcond,
             lapack_int* rank, T* work, lapack_int size, lapack_int* integers),
            (&m, &n, &columns, a, &lda, b, &ldb, s, &rcond, rank, work, &size, integers, &info))

#undef TDSL_LAPACK

}  // namespace lapack
}  // namespace tdsl::rt::routines::kernels
