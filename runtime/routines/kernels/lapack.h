#pragma once

#include <lapacke.h>

// LAPACK's routines by name for both float types: `lapack::getrf(m, n, a, lda, pivots)`. Matrices are column-major; results
// are LAPACK's `info`. The only header of the runtime that includes lapacke.h. Workspaces are the caller's; a size of -1 asks
// for the best one, which comes back in work[0].

namespace tdsl::rt::routines::kernels::lapack {

#define TDSL_LAPACK(name, parameters, call)     \
  template <class T>                            \
  [[nodiscard]] lapack_int name parameters {    \
    if constexpr (sizeof(T) == 8) {             \
      return LAPACKE_d##name##_work call;       \
    } else {                                    \
      return LAPACKE_s##name##_work call;       \
    }                                           \
  }

TDSL_LAPACK(potrf, (lapack_int n, T* a, lapack_int lda), (LAPACK_COL_MAJOR, 'L', n, a, lda))
TDSL_LAPACK(getrf, (lapack_int m, lapack_int n, T* a, lapack_int lda, lapack_int* pivots),
                 (LAPACK_COL_MAJOR, m, n, a, lda, pivots))
TDSL_LAPACK(getrs, (lapack_int n, lapack_int columns, const T* a, lapack_int lda, const lapack_int* pivots, T* b, lapack_int ldb),
                 (LAPACK_COL_MAJOR, 'N', n, columns, a, lda, pivots, b, ldb))
TDSL_LAPACK(getri, (lapack_int n, T* a, lapack_int lda, const lapack_int* pivots, T* work, lapack_int size),
                 (LAPACK_COL_MAJOR, n, a, lda, pivots, work, size))
TDSL_LAPACK(geqrf, (lapack_int m, lapack_int n, T* a, lapack_int lda, T* tau, T* work, lapack_int size),
                 (LAPACK_COL_MAJOR, m, n, a, lda, tau, work, size))
TDSL_LAPACK(orgqr, (lapack_int m, lapack_int n, lapack_int k, T* a, lapack_int lda, const T* tau, T* work, lapack_int size),
                 (LAPACK_COL_MAJOR, m, n, k, a, lda, tau, work, size))
TDSL_LAPACK(gesdd,
                 (lapack_int m, lapack_int n, T* a, lapack_int lda, T* s, T* u, lapack_int ldu, T* vt, lapack_int ldvt, T* work,
                  lapack_int size, lapack_int* integers),
                 (LAPACK_COL_MAJOR, 'S', m, n, a, lda, s, u, ldu, vt, ldvt, work, size, integers))
TDSL_LAPACK(syevd, (lapack_int n, T* a, lapack_int lda, T* w, T* work, lapack_int size, lapack_int* integers, lapack_int count),
                 (LAPACK_COL_MAJOR, 'V', 'L', n, a, lda, w, work, size, integers, count))
TDSL_LAPACK(gelsd,
                 (lapack_int m, lapack_int n, lapack_int columns, T* a, lapack_int lda, T* b, lapack_int ldb, T* s, T rcond,
                  lapack_int* rank, T* work, lapack_int size, lapack_int* integers),
                 (LAPACK_COL_MAJOR, m, n, columns, a, lda, b, ldb, s, rcond, rank, work, size, integers))

#undef TDSL_LAPACK

}  // namespace tdsl::rt::routines::kernels::lapack
