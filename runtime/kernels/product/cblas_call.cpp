// BLAS calls through a CBLAS chosen when TDSL was configured (TDSL_CBLAS). Unlike BLIS, other libraries require one
// unit stride per matrix: matrices without one are copied.
#ifdef TDSL_CBLAS

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/check.h"
#include "runtime/complex.h"
#include "runtime/kernels/product/blas_call.h"

// Declared here because the headers of the libraries differ while their functions do not.
extern "C" {
enum CblasOrder { kRowMajor = 101 };
enum CblasTranspose { kNoTranspose = 111, kTranspose = 112 };
enum CblasUplo { kUpper = 121, kLower = 122 };
enum CblasDiag { kNonUnit = 131, kUnit = 132 };
enum CblasSide { kLeft = 141, kRight = 142 };
void cblas_dgemm(CblasOrder, CblasTranspose, CblasTranspose, int, int, int, double, const double*, int, const double*,
                 int, double, double*, int);
void cblas_sgemm(CblasOrder, CblasTranspose, CblasTranspose, int, int, int, float, const float*, int, const float*, int,
                 float, float*, int);
void cblas_dgemv(CblasOrder, CblasTranspose, int, int, double, const double*, int, const double*, int, double, double*,
                 int);
void cblas_sgemv(CblasOrder, CblasTranspose, int, int, float, const float*, int, const float*, int, float, float*, int);
void cblas_dtrsm(CblasOrder, CblasSide, CblasUplo, CblasTranspose, CblasDiag, int, int, double, const double*, int,
                 double*, int);
void cblas_strsm(CblasOrder, CblasSide, CblasUplo, CblasTranspose, CblasDiag, int, int, float, const float*, int,
                 float*, int);
void cblas_zgemm(CblasOrder, CblasTranspose, CblasTranspose, int, int, int, const void*, const void*, int, const void*,
                 int, const void*, void*, int);
void cblas_cgemm(CblasOrder, CblasTranspose, CblasTranspose, int, int, int, const void*, const void*, int, const void*,
                 int, const void*, void*, int);
void cblas_zgemv(CblasOrder, CblasTranspose, int, int, const void*, const void*, int, const void*, int, const void*,
                 void*, int);
void cblas_cgemv(CblasOrder, CblasTranspose, int, int, const void*, const void*, int, const void*, int, const void*,
                 void*, int);
void cblas_ztrsm(CblasOrder, CblasSide, CblasUplo, CblasTranspose, CblasDiag, int, int, const void*, const void*, int,
                 void*, int);
void cblas_ctrsm(CblasOrder, CblasSide, CblasUplo, CblasTranspose, CblasDiag, int, int, const void*, const void*, int,
                 void*, int);
// The runtime manages threads; which of these functions exists depends on the library.
[[gnu::weak]] void openblas_set_num_threads(int);
[[gnu::weak]] void MKL_Set_Num_Threads(int);
[[gnu::weak]] void bli_thread_set_num_threads(long);
}

namespace tdsl::rt::blas {

namespace {

int small(Index x) {
  TDSL_CHECK(x <= std::numeric_limits<int>::max(), "a matrix of a task is larger than this BLAS counts");
  return static_cast<int>(x);
}

/// A matrix in CBLAS form: contiguous rows, or their transpose.
template <class T>
struct Plain {
  const T* data;
  int leading;
  bool transposed = false;
  std::vector<T> copy;

  Plain(Matrix<const T> a, Index rows, Index columns) : data(a.data) {
    if (a.column_stride == 1 || columns <= 1) {
      leading = small(std::max({a.row_stride, columns, Index{1}}));
      if (rows <= 1 || a.row_stride >= columns) return;
    }
    if (a.row_stride == 1 && a.column_stride >= rows) {
      leading = small(std::max<Index>(a.column_stride, 1));
      transposed = true;
      return;
    }
    copy.resize(static_cast<std::size_t>(rows * columns));
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < columns; ++j)
        copy[static_cast<std::size_t>(i * columns + j)] = a.data[i * a.row_stride + j * a.column_stride];
    }
    data = copy.data();
    leading = small(std::max<Index>(columns, 1));
  }
  [[nodiscard]] CblasTranspose transpose() const { return transposed ? kTranspose : kNoTranspose; }
};

template <class T>
struct Cblas;

template <>
struct Cblas<double> {
  static constexpr auto gemm = cblas_dgemm;
  static constexpr auto gemv = cblas_dgemv;
  static constexpr auto trsm = cblas_dtrsm;
};

template <>
struct Cblas<float> {
  static constexpr auto gemm = cblas_sgemm;
  static constexpr auto gemv = cblas_sgemv;
  static constexpr auto trsm = cblas_strsm;
};

/// Complex numbers are passed by address.
template <class T, auto Gemm, auto Gemv, auto Trsm>
struct CblasComplex {
  static void gemm(CblasOrder order, CblasTranspose ta, CblasTranspose tb, int m, int n, int k, T alpha, const T* a,
                   int lda, const T* b, int ldb, T beta, T* c, int ldc) {
    Gemm(order, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
  }
  static void gemv(CblasOrder order, CblasTranspose ta, int m, int n, T alpha, const T* a, int lda, const T* x,
                   int inc_x, T beta, T* y, int inc_y) {
    Gemv(order, ta, m, n, &alpha, a, lda, x, inc_x, &beta, y, inc_y);
  }
  static void trsm(CblasOrder order, CblasSide side, CblasUplo uplo, CblasTranspose ta, CblasDiag diag, int m, int n,
                   T alpha, const T* a, int lda, T* b, int ldb) {
    Trsm(order, side, uplo, ta, diag, m, n, &alpha, a, lda, b, ldb);
  }
};
template <>
struct Cblas<Complex<double>> : CblasComplex<Complex<double>, cblas_zgemm, cblas_zgemv, cblas_ztrsm> {};
template <>
struct Cblas<Complex<float>> : CblasComplex<Complex<float>, cblas_cgemm, cblas_cgemv, cblas_ctrsm> {};

template <class T>
void product(Index m, Index n, Index k, Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c) {
  if (m == 0 || n == 0) return;
  if (c.column_stride != 1 && c.row_stride == 1) {
    // C' = B' A'.
    return product<T>(n, m, k, {b.data, b.column_stride, b.row_stride}, {a.data, a.column_stride, a.row_stride},
                      accumulate, {c.data, c.column_stride, c.row_stride});
  }
  const Plain<T> left(a, m, k);
  const Plain<T> right(b, k, n);
  const bool in_place = c.column_stride == 1 && (m == 1 || c.row_stride >= n);
  std::vector<T> whole(in_place ? 0 : static_cast<std::size_t>(m * n));
  const bool adds_in_place = in_place && accumulate;
  Cblas<T>::gemm(kRowMajor, left.transpose(), right.transpose(), small(m), small(n), small(k), T{1}, left.data,
                 left.leading, right.data, right.leading, adds_in_place ? T{1} : T{0}, in_place ? c.data : whole.data(),
                 small(in_place ? std::max(c.row_stride, n) : n));
  if (in_place) return;
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      T& target = c.data[i * c.row_stride + j * c.column_stride];
      const T value = whole[static_cast<std::size_t>(i * n + j)];
      target = accumulate ? target + value : value;
    }
  }
}

}  // namespace

void prepare() {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
  if (MKL_Set_Num_Threads != nullptr) MKL_Set_Num_Threads(1);
  if (bli_thread_set_num_threads != nullptr) bli_thread_set_num_threads(1);
}

template <class T>
void gemm(Index m, Index n, Index k, Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c,
          const Finish& finish) {
  product<T>(m, n, k, a, b, accumulate, c);
  if (finish) finish(0, m, 0, n);
}

template <class T>
bool gemm_of_tiles(Index /*m*/, Index /*n*/, Index /*k*/, const TiledMatrix<const T>& /*a*/,
                   const TiledMatrix<const T>& /*b*/, bool /*accumulate*/, const TiledMatrix<T>& /*c*/) {
  return false;
}

template <class T>
void gemv(Index m, Index n, Matrix<const T> a, const T* x, Index x_stride, bool accumulate, T* y, Index y_stride) {
  if (m == 0) return;
  const Plain<T> matrix(a, m, n);
  // As stored by rows, a transposed matrix is n x m.
  Cblas<T>::gemv(kRowMajor, matrix.transpose(), small(matrix.transposed ? n : m), small(matrix.transposed ? m : n),
                 T{1}, matrix.data, matrix.leading, x, small(x_stride), accumulate ? T{1} : T{0}, y, small(y_stride));
}

/// The rows of X are contiguous here, or copied.
template <class T>
void trsm(Triangle triangle, bool from_left, Index m, Index n, Matrix<const T> t, Matrix<T> x) {
  if (m == 0 || n == 0) return;
  const Index order = from_left ? m : n;
  const Plain<T> matrix(t, order, order);
  std::vector<T> copy;
  const bool in_place = x.column_stride == 1 && (m == 1 || x.row_stride >= n);
  const auto each = [&](const auto& f) {
    for (Index i = 0; i < m; ++i) {
      for (Index j = 0; j < n; ++j)
        f(x.data[i * x.row_stride + j * x.column_stride], copy[static_cast<std::size_t>(i * n + j)]);
    }
  };
  if (!in_place) {
    copy.resize(static_cast<std::size_t>(m * n));
    each([](const T& from, T& to) { to = from; });
  }
  const bool upper = (triangle == Triangle::kUpper) != matrix.transposed;
  const bool transpose = from_left == matrix.transposed;
  Cblas<T>::trsm(kRowMajor, from_left ? kLeft : kRight, upper ? kUpper : kLower, transpose ? kTranspose : kNoTranspose,
                 triangle == Triangle::kUnitLower ? kUnit : kNonUnit, small(m), small(n), T{1}, matrix.data,
                 matrix.leading, in_place ? x.data : copy.data(), small(in_place ? std::max(x.row_stride, n) : n));
  if (!in_place) each([](T& to, const T& from) { to = from; });
}

template void gemm(Index, Index, Index, Matrix<const float>, Matrix<const float>, bool, Matrix<float>, const Finish&);
template bool gemm_of_tiles(Index, Index, Index, const TiledMatrix<const float>&, const TiledMatrix<const float>&, bool,
                            const TiledMatrix<float>&);
template bool gemm_of_tiles(Index, Index, Index, const TiledMatrix<const double>&, const TiledMatrix<const double>&,
                            bool, const TiledMatrix<double>&);
template void gemv(Index, Index, Matrix<const float>, const float*, Index, bool, float*, Index);
template void trsm(Triangle, bool, Index, Index, Matrix<const float>, Matrix<float>);
template void gemm(Index, Index, Index, Matrix<const double>, Matrix<const double>, bool, Matrix<double>,
                   const Finish&);
template void gemv(Index, Index, Matrix<const double>, const double*, Index, bool, double*, Index);
template void trsm(Triangle, bool, Index, Index, Matrix<const double>, Matrix<double>);

#define TDSL_COMPLEX(T)                                                                                            \
  template void gemm(Index, Index, Index, Matrix<const T>, Matrix<const T>, bool, Matrix<T>, const Finish&);       \
  template bool gemm_of_tiles(Index, Index, Index, const TiledMatrix<const T>&, const TiledMatrix<const T>&, bool, \
                              const TiledMatrix<T>&);                                                              \
  template void gemv(Index, Index, Matrix<const T>, const T*, Index, bool, T*, Index);                             \
  template void trsm(Triangle, bool, Index, Index, Matrix<const T>, Matrix<T>);
TDSL_COMPLEX(Complex<float>)
TDSL_COMPLEX(Complex<double>)
#undef TDSL_COMPLEX

}  // namespace tdsl::rt::blas

#endif
