#pragma once

#include <complex>
#include <cstdint>
#include <vector>

// Dense linear algebra on complex matrices for the evaluator: see linear.h.
namespace tdsl::ir::eval {

using Number = std::complex<double>;

/// Row-major.
struct ComplexMatrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<Number> elements;

  ComplexMatrix() = default;
  ComplexMatrix(std::int64_t r, std::int64_t c) : rows(r), columns(c), elements(static_cast<std::size_t>(r * c)) {}
  Number& operator()(std::int64_t i, std::int64_t j) { return elements[static_cast<std::size_t>(i * columns + j)]; }
  const Number& operator()(std::int64_t i, std::int64_t j) const {
    return elements[static_cast<std::size_t>(i * columns + j)];
  }
};

/// Without the repeated attempt of std::complex at results that are nan.
[[nodiscard]] inline Number times(const Number& a, const Number& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

[[nodiscard]] ComplexMatrix complex_identity(std::int64_t n);
/// The conjugate transpose.
[[nodiscard]] ComplexMatrix adjoint(const ComplexMatrix& a);
/// Frobenius norm; infinite if any element is not finite.
[[nodiscard]] double norm(const ComplexMatrix& a);

/// As LuFactors of reals. The pivot is the first element with the largest sum of the absolute values of its parts, as
/// LAPACK has it.
struct ComplexLu {
  std::vector<std::int64_t> p;
  ComplexMatrix l;
  ComplexMatrix u;
  bool odd = false;
  bool singular = false;
};
[[nodiscard]] ComplexLu lu(const ComplexMatrix& a);
[[nodiscard]] bool pivots_are_certain(const ComplexMatrix& a, double error, bool exact);

/// Empty (0, 0) if a pivot is exactly 0.
[[nodiscard]] ComplexMatrix inverse(const ComplexMatrix& a);
/// The norm of the inverse; infinite if singular.
[[nodiscard]] double inverse_norm(const ComplexMatrix& a);

/// Eigenvalues ascending, eigenvectors in columns, of the Hermitian matrix `a`; cyclic Jacobi.
struct HermitianEigen {
  std::vector<double> values;
  ComplexMatrix vectors;
};
[[nodiscard]] HermitianEigen hermitian_eigen(const ComplexMatrix& a);

/// Thin: A = U diag(s) V^H, s descending; one-sided Jacobi.
struct ComplexSingular {
  ComplexMatrix u;
  std::vector<double> s;
  ComplexMatrix v;
};
[[nodiscard]] ComplexSingular singular_values(const ComplexMatrix& a);

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
