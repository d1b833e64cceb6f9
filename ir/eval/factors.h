#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "ir/eval/linear.h"
#include "ir/eval/perturbation.h"
#include "ir/eval/routine.h"

// Operands and results of factorisations of real (T = double) and complex (T = Number) matrices, with bounds.
namespace tdsl::ir::eval {

/// A matrix operand: its elements, their error bounds, and the rounding unit of its type.
template <class T>
struct Operand {
  MatrixOf<T> matrix;
  double error = 0;  ///< norm of the elements' bounds
  double epsilon = 0;
  bool finite = true;

  /// e of the note in factorise.cpp, for algorithms that use orthogonal transformations or the positive definite
  /// structure.
  [[nodiscard]] double backward() const {
    const auto n = static_cast<double>(std::max<std::int64_t>({matrix.rows, matrix.columns, 1}));
    return error + kUnits * n * epsilon * norm(matrix);
  }
};
/// A vector is a matrix of one column.
template <class T>
[[nodiscard]] Operand<T> operand_of(const Array& a);

/// Writes an element, rounded to its type. The bound of one that is not finite is open.
void put(Array& result, std::size_t position, const Number& value, double bound);
/// Writes a matrix (or a vector of one column) with the error bound `bound` for all elements.
template <class T>
void put(Array& result, const MatrixOf<T>& m, double bound);

template <class T>
[[nodiscard]] Matrix magnitudes(const MatrixOf<T>& a);

/// The factor that makes the largest component of a column real and positive. Among components equal up to the square
/// root of the rounding unit the first counts, so that ties do not depend on rounding. `error`: its bound, open if
/// another component or sign may count.
template <class T>
struct Phase {
  T factor = 1;
  double error = 0;
};
/// `spread`: error bound of the components.
[[nodiscard]] Phase<double> phase_of_column(const Matrix& m, std::int64_t j, double epsilon, double spread);
[[nodiscard]] Phase<Number> phase_of_column(const ComplexMatrix& m, std::int64_t j, double epsilon, double spread);

/// Column j times the phase; as a row it is conjugated.
template <class T>
void put_column(Array& result, const MatrixOf<T>& m, std::int64_t j, const Phase<T>& phase, double bound, bool as_row);

/// Eigenvalues and vectors of a general matrix.
void evaluate_eig(const MatrixPlace& place, const Array& operand, const std::vector<std::shared_ptr<Array>>& results);

}  // namespace tdsl::ir::eval
