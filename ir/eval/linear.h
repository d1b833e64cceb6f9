#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

// Dense linear algebra for the evaluator: plain textbook algorithms in f64 and c128, sequential, optimised for
// readability and trust rather than speed. Error bounds are the caller's responsibility (ir/eval/factorise.cpp).
// T is double or Number.
namespace tdsl::ir::eval {

using Number = std::complex<double>;

/// Row-major.
template <class T>
struct MatrixOf {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<T> elements;

  MatrixOf() = default;
  MatrixOf(std::int64_t r, std::int64_t c) : rows(r), columns(c), elements(static_cast<std::size_t>(r * c)) {}
  T& operator()(std::int64_t i, std::int64_t j) { return elements[static_cast<std::size_t>(i * columns + j)]; }
  const T& operator()(std::int64_t i, std::int64_t j) const {
    return elements[static_cast<std::size_t>(i * columns + j)];
  }
};
using Matrix = MatrixOf<double>;
using ComplexMatrix = MatrixOf<Number>;

inline double times(double a, double b) { return a * b; }
/// Without the repeated attempt of std::complex at results that are nan.
inline Number times(const Number& a, const Number& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline double real_part(double x) { return x; }
inline double real_part(const Number& z) { return z.real(); }
inline double conjugate(double x) { return x; }
inline Number conjugate(const Number& z) { return std::conj(z); }

template <class T>
[[nodiscard]] MatrixOf<T> identity(std::int64_t n);
/// The conjugate transpose.
template <class T>
[[nodiscard]] MatrixOf<T> adjoint(const MatrixOf<T>& a);
[[nodiscard]] Matrix product(const Matrix& a, const Matrix& b);
/// Rows [0, rows) and columns [0, columns).
template <class T>
[[nodiscard]] MatrixOf<T> leading(const MatrixOf<T>& a, std::int64_t rows, std::int64_t columns);
/// Frobenius norm; infinite if any element is not finite.
template <class T>
[[nodiscard]] double norm(const MatrixOf<T>& a);

/// Row p[i] of A is row i of L U; L is unit lower trapezoidal (m, k), U upper trapezoidal (k, n), k = min(m, n). The
/// pivot is the first element of largest magnitude in its column; of a complex number that is the sum of the absolute
/// values of its parts, as LAPACK has it. A column without a nonzero pivot is left unchanged.
template <class T>
struct LuFactors {
  std::vector<std::int64_t> p;
  MatrixOf<T> l;
  MatrixOf<T> u;
  bool odd = false;       ///< the permutation is odd
  bool singular = false;  ///< some pivot is exactly 0
};
template <class T>
[[nodiscard]] LuFactors<T> lu(const MatrixOf<T>& a);

/// True if partial pivoting chooses the same rows under a backward error of `error` in norm; false also if that is
/// unknown. `exact`: the elements themselves have no error.
template <class T>
[[nodiscard]] bool pivots_are_certain(const MatrixOf<T>& a, double error, bool exact);

/// The inverse by Gauss-Jordan elimination with partial pivoting; empty (0, 0) if a pivot is exactly 0.
template <class T>
[[nodiscard]] MatrixOf<T> inverse(const MatrixOf<T>& a);
/// The norm of the inverse; infinite if singular.
template <class T>
[[nodiscard]] double inverse_norm(const MatrixOf<T>& a);

/// The lower factor of the lower triangle; `positive` is false if it is not positive definite.
struct CholeskyFactor {
  Matrix l;
  bool positive = true;
};
[[nodiscard]] CholeskyFactor cholesky(const Matrix& a);

/// Reduced, diag(R) >= 0, by Householder reflections.
struct QrFactors {
  Matrix q;
  Matrix r;
};
[[nodiscard]] QrFactors qr(const Matrix& a);

/// Eigenvalues ascending, eigenvectors in columns, of the symmetric or Hermitian matrix `a`; cyclic Jacobi.
template <class T>
struct Eigen {
  std::vector<double> values;
  MatrixOf<T> vectors;
};
template <class T>
[[nodiscard]] Eigen<T> hermitian_eigen(const MatrixOf<T>& a);

/// Thin: A = U diag(s) V^H, s descending; one-sided Jacobi.
template <class T>
struct SingularValues {
  MatrixOf<T> u;
  std::vector<double> s;
  MatrixOf<T> v;
};
template <class T>
[[nodiscard]] SingularValues<T> singular_values(const MatrixOf<T>& a);

/// Eigenvalues and unit eigenvectors of a square matrix, in no order, by the shifted QR algorithm. `conditions`: the
/// norm of each row of the inverse of the vectors, the condition of the eigenvalue; infinite if there is none.
struct Spectrum {
  std::vector<Number> values;
  ComplexMatrix vectors;
  std::vector<double> conditions;
  bool converged = true;
};
[[nodiscard]] Spectrum spectrum_of(const ComplexMatrix& a);

}  // namespace tdsl::ir::eval
