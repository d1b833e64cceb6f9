#include "runtime/kernels/blis_call.h"

#include <blis.h>

namespace tdsl::rt::blis {

namespace {

rntm_t one_thread() {
  rntm_t rntm = BLIS_RNTM_INITIALIZER;
  bli_rntm_set_num_threads(1, &rntm);
  return rntm;
}

// BLIS reads its operands only, but its interface does not say so.
template <class T>
T* writable(const T* data) {
  return const_cast<T*>(data);
}

}  // namespace

void gemm(Index m, Index n, Index k, Matrix<const double> a, Matrix<const double> b, bool accumulate, Matrix<double> c) {
  rntm_t rntm = one_thread();
  double one = 1;
  double beta = accumulate ? 1 : 0;
  bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, writable(a.data), a.row_stride, a.column_stride, writable(b.data),
               b.row_stride, b.column_stride, &beta, c.data, c.row_stride, c.column_stride, nullptr, &rntm);
}

void gemm(Index m, Index n, Index k, Matrix<const float> a, Matrix<const float> b, bool accumulate, Matrix<float> c) {
  rntm_t rntm = one_thread();
  float one = 1;
  float beta = accumulate ? 1 : 0;
  bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, writable(a.data), a.row_stride, a.column_stride, writable(b.data),
               b.row_stride, b.column_stride, &beta, c.data, c.row_stride, c.column_stride, nullptr, &rntm);
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

}  // namespace tdsl::rt::blis
