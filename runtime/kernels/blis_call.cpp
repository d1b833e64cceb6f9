// The BLAS calls through BLIS, which takes any strides and any number of threads of ours.
#ifndef TDSL_CBLAS

#include <blis.h>

#include <algorithm>

#include "runtime/app/environment.h"
#include "runtime/kernels/blas_call.h"
#include "runtime/kernels/blocked_reduction.h"

namespace tdsl::rt::blas {

namespace {

rntm_t one_thread() {
  rntm_t rntm = BLIS_RNTM_INITIALIZER;
  bli_rntm_set_num_threads(1, &rntm);
  return rntm;
}

// Note [Small products]
// BLIS's kernels for AVX-512 have no path for small matrices: they pack operands that fit the cache, and lose up to ten times
// to the AVX2 kernels, which have one. Up to 32 columns or rows, or 64 x 64 elements of C, the latter are used; at that border
// both are equally fast, for any k, in f64 and f32.
cntx_t* small_products() {
  static cntx_t* const context = [] {
    bli_init();
    const bool avx512 = bli_arch_query_id() == BLIS_ARCH_SKX;
    return avx512 ? const_cast<cntx_t*>(bli_gks_lookup_nat_cntx(BLIS_ARCH_HASWELL)) : nullptr;
  }();
  return context;
}

/// The kernels for a product with C of m x n; null: the processor's.
cntx_t* kernels_for(Index m, Index n) {
  constexpr Index kThin = 32;
  constexpr Index kSmall = 64 * 64;
  return std::min(m, n) <= kThin || m * n <= kSmall ? small_products() : nullptr;
}

// BLIS reads its operands only, but its interface does not say so.
template <class T>
T* writable(const T* data) {
  return const_cast<T*>(data);
}

}  // namespace

void prepare() {
  constexpr int kSkylakeX = 0;  // BLIS 0.9's number of the AVX-512 kernels
  if (simd_level() == SimdLevel::kAvx512) set_blis_arch_type(kSkylakeX);
}

void gemm(Index m, Index n, Index k, Matrix<const double> a, Matrix<const double> b, bool accumulate, Matrix<double> c) {
  rntm_t rntm = one_thread();
  double one = 1;
  double beta = accumulate ? 1 : 0;
  bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, writable(a.data), a.row_stride, a.column_stride, writable(b.data),
               b.row_stride, b.column_stride, &beta, c.data, c.row_stride, c.column_stride, kernels_for(m, n), &rntm);
}

void gemm(Index m, Index n, Index k, Matrix<const float> a, Matrix<const float> b, bool accumulate, Matrix<float> c) {
  rntm_t rntm = one_thread();
  float one = 1;
  float beta = accumulate ? 1 : 0;
  bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, writable(a.data), a.row_stride, a.column_stride, writable(b.data),
               b.row_stride, b.column_stride, &beta, c.data, c.row_stride, c.column_stride, kernels_for(m, n), &rntm);
}

void gemv(Index m, Index n, Matrix<const double> a, const double* x, Index x_stride, bool accumulate, double* y, Index y_stride) {
  rntm_t rntm = one_thread();
  double one = 1;
  double beta = accumulate ? 1 : 0;
  bli_dgemv_ex(BLIS_NO_TRANSPOSE, BLIS_NO_CONJUGATE, m, n, &one, writable(a.data), a.row_stride, a.column_stride, writable(x), x_stride,
               &beta, y, y_stride, nullptr, &rntm);
}

void gemv(Index m, Index n, Matrix<const float> a, const float* x, Index x_stride, bool accumulate, float* y, Index y_stride) {
  rntm_t rntm = one_thread();
  float one = 1;
  float beta = accumulate ? 1 : 0;
  bli_sgemv_ex(BLIS_NO_TRANSPOSE, BLIS_NO_CONJUGATE, m, n, &one, writable(a.data), a.row_stride, a.column_stride, writable(x), x_stride,
               &beta, y, y_stride, nullptr, &rntm);
}

void trsm(Triangle triangle, bool from_left, Index m, Index n, Matrix<const double> t, Matrix<double> x) {
  rntm_t rntm = one_thread();
  double one = 1;
  bli_dtrsm_ex(from_left ? BLIS_LEFT : BLIS_RIGHT, triangle == Triangle::kUpper ? BLIS_UPPER : BLIS_LOWER,
               from_left ? BLIS_NO_TRANSPOSE : BLIS_TRANSPOSE, triangle == Triangle::kUnitLower ? BLIS_UNIT_DIAG : BLIS_NONUNIT_DIAG, m, n, &one,
               writable(t.data), t.row_stride, t.column_stride, x.data, x.row_stride, x.column_stride, nullptr, &rntm);
}

void trsm(Triangle triangle, bool from_left, Index m, Index n, Matrix<const float> t, Matrix<float> x) {
  rntm_t rntm = one_thread();
  float one = 1;
  bli_strsm_ex(from_left ? BLIS_LEFT : BLIS_RIGHT, triangle == Triangle::kUpper ? BLIS_UPPER : BLIS_LOWER,
               from_left ? BLIS_NO_TRANSPOSE : BLIS_TRANSPOSE, triangle == Triangle::kUnitLower ? BLIS_UNIT_DIAG : BLIS_NONUNIT_DIAG, m, n, &one,
               writable(t.data), t.row_stride, t.column_stride, x.data, x.row_stride, x.column_stride, nullptr, &rntm);
}

}  // namespace tdsl::rt::blas

#endif
