#pragma once

#include <cstdint>
#include <vector>

// Dense linear algebra for the evaluator: plain textbook algorithms in f64, sequential, optimised for readability and
// trust rather than speed. Error bounds are the caller's responsibility (ir/eval/factorise.cpp).
namespace tdsl::ir::eval {

/// Row-major.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> elements;

  Matrix() = default;
  Matrix(std::int64_t r, std::int64_t c) : rows(r), columns(c), elements(static_cast<std::size_t>(r * c), 0.0) {}
  double& operator()(std::int64_t i, std::int64_t j) { return elements[static_cast<std::size_t>(i * columns + j)]; }
  double operator()(std::int64_t i, std::int64_t j) const {
    return elements[static_cast<std::size_t>(i * columns + j)];
  }
};

[[nodiscard]] Matrix identity(std::int64_t n);
[[nodiscard]] Matrix transposed(const Matrix& a);
[[nodiscard]] Matrix product(const Matrix& a, const Matrix& b);
/// Rows [0, rows) and columns [0, columns).
[[nodiscard]] Matrix leading(const Matrix& a, std::int64_t rows, std::int64_t columns);
/// Frobenius norm; infinite if any element is not finite.
[[nodiscard]] double norm(const Matrix& a);

/// Row p[i] of A is row i of L U; L is unit lower trapezoidal (m, k), U upper trapezoidal (k, n), k = min(m, n). The
/// pivot is the first element of largest magnitude in its column. A column without a nonzero pivot is left unchanged.
struct LuFactors {
  std::vector<std::int64_t> p;
  Matrix l;
  Matrix u;
  bool odd = false;       ///< the permutation is odd
  bool singular = false;  ///< some pivot is exactly 0
};
[[nodiscard]] LuFactors lu(const Matrix& a);

/// True if partial pivoting chooses the same rows under a backward error of `error` in norm; false also if that is
/// unknown. `exact`: the elements themselves have no error.
[[nodiscard]] bool pivots_are_certain(const Matrix& a, double error, bool exact);

/// The inverse by Gauss-Jordan elimination with partial pivoting; empty (0, 0) if a pivot is exactly 0.
[[nodiscard]] Matrix inverse(const Matrix& a);
/// The norm of the inverse; infinite if singular.
[[nodiscard]] double inverse_norm(const Matrix& a);

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

/// Eigenvalues ascending, eigenvectors in columns, of the symmetric matrix with A's lower triangle; cyclic Jacobi.
struct Eigen {
  std::vector<double> values;
  Matrix vectors;
};
[[nodiscard]] Eigen symmetric_eigen(const Matrix& a);

/// Thin: A = U diag(s) V', s descending; one-sided Jacobi.
struct SingularValues {
  Matrix u;
  std::vector<double> s;
  Matrix v;
};
[[nodiscard]] SingularValues singular_values(const Matrix& a);

}  // namespace tdsl::ir::eval
