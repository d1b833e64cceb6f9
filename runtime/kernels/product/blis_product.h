#pragma once

#include <blis.h>

#include "runtime/kernels/product/blas_call.h"

namespace tdsl::rt::blas {

/// Names of BLIS for an element type.
template <class T>
struct BlisType;

template <>
struct BlisType<double> {
  using MicroKernel = dgemm_ukr_ft;
  using Small = dgemmsup_ker_ft;
  static constexpr num_t kType = BLIS_DOUBLE;
  static constexpr auto gemm = bli_dgemm_ex;
  static constexpr auto gemv = bli_dgemv_ex;
  static constexpr auto trsm = bli_dtrsm_ex;
};

template <>
struct BlisType<float> {
  using MicroKernel = sgemm_ukr_ft;
  using Small = sgemmsup_ker_ft;
  static constexpr num_t kType = BLIS_FLOAT;
  static constexpr auto gemm = bli_sgemm_ex;
  static constexpr auto gemv = bli_sgemv_ex;
  static constexpr auto trsm = bli_strsm_ex;
};

/// If any extent is below this, BLIS's paths for small and thin matrices are faster.
inline constexpr Index kLarge = 256;

/// True if `packed_product` applies: every extent at least `least`, and this processor's micro-kernels read plain
/// panels.
template <class T>
bool takes_packed_product(Index m, Index n, Index k, Index least = kLarge);

/// C = beta C + A B by BLIS's micro-kernel, on operands packed by the runtime. One thread; ticks after each
/// micro-kernel (progress.h). `finish` is called for parts that are still in cache.
template <class T>
void packed_product(Index m, Index n, Index k, TiledMatrix<const T> a, TiledMatrix<const T> b, bool accumulate,
                    TiledMatrix<T> c, const Finish& finish);

}  // namespace tdsl::rt::blas
