#pragma once

#include <blis.h>

#include "runtime/complex.h"
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

/// Complex numbers have the layout of BLIS's. Their products run on its kernels for reals (the 1m method), which it
/// selects itself: the context is null.
template <class T, class Blis, auto Gemm, auto Gemv, auto Trsm>
struct BlisComplex {
  static void gemm(trans_t ta, trans_t tb, dim_t m, dim_t n, dim_t k, T* alpha, T* a, inc_t rs_a, inc_t cs_a, T* b,
                   inc_t rs_b, inc_t cs_b, T* beta, T* c, inc_t rs_c, inc_t cs_c, cntx_t* context, rntm_t* rntm) {
    Gemm(ta, tb, m, n, k, of(alpha), of(a), rs_a, cs_a, of(b), rs_b, cs_b, of(beta), of(c), rs_c, cs_c, context, rntm);
  }
  static void gemv(trans_t ta, conj_t cx, dim_t m, dim_t n, T* alpha, T* a, inc_t rs_a, inc_t cs_a, T* x, inc_t inc_x,
                   T* beta, T* y, inc_t inc_y, cntx_t* context, rntm_t* rntm) {
    Gemv(ta, cx, m, n, of(alpha), of(a), rs_a, cs_a, of(x), inc_x, of(beta), of(y), inc_y, context, rntm);
  }
  static void trsm(side_t side, uplo_t uplo, trans_t ta, diag_t diag, dim_t m, dim_t n, T* alpha, T* a, inc_t rs_a,
                   inc_t cs_a, T* b, inc_t rs_b, inc_t cs_b, cntx_t* context, rntm_t* rntm) {
    Trsm(side, uplo, ta, diag, m, n, of(alpha), of(a), rs_a, cs_a, of(b), rs_b, cs_b, context, rntm);
  }
  static Blis* of(T* data) { return reinterpret_cast<Blis*>(data); }
};

template <>
struct BlisType<Complex<double>> : BlisComplex<Complex<double>, dcomplex, bli_zgemm_ex, bli_zgemv_ex, bli_ztrsm_ex> {};
template <>
struct BlisType<Complex<float>> : BlisComplex<Complex<float>, scomplex, bli_cgemm_ex, bli_cgemv_ex, bli_ctrsm_ex> {};

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
