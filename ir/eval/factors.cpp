#include "ir/eval/factors.h"

#include "ir/eval/elements.h"

namespace tdsl::ir::eval {

namespace {

void take(double& to, const Real& from) { to = from.value; }
void take(Number& to, const Real& from) { to = {from.value, from.imag}; }

}  // namespace

template <class T>
Operand<T> operand_of(const Array& a) {
  Operand<T> result;
  result.matrix = MatrixOf<T>(a.shape.at(0), a.shape.size() == 1 ? 1 : a.shape.at(1));
  for (std::size_t k = 0; k < a.floats.size(); ++k) {
    const Real z = real_element(a, k);
    take(result.matrix.elements[k], z);
    result.error = std::hypot(result.error, z.bound);
    result.finite = result.finite && is_finite(z);
  }
  result.epsilon = is_narrow(a.type) ? kEpsilon<float> : kEpsilon<double>;
  return result;
}

void put(Array& result, std::size_t position, const Number& value, double bound) {
  const auto rounded = [&](double x) {
    return is_narrow(result.type) ? static_cast<double>(static_cast<float>(x)) : x;
  };
  const Real z{rounded(value.real()), 0, rounded(value.imag())};
  set_element(result, position, {{z.value, is_finite(z) && bound == bound ? bound : kOpen, z.imag}, {}});
}

template <class T>
void put(Array& result, const MatrixOf<T>& m, double bound) {
  const double unit = is_narrow(result.type) ? kEpsilon<float> : kEpsilon<double>;
  for (std::size_t k = 0; k < m.elements.size(); ++k)
    put(result, k, m.elements[k], bound + unit * std::abs(m.elements[k]));
}

template <class T>
Matrix magnitudes(const MatrixOf<T>& a) {
  Matrix result(a.rows, a.columns);
  for (std::size_t k = 0; k < a.elements.size(); ++k) result.elements[k] = std::abs(a.elements[k]);
  return result;
}

Phase<double> phase_of_column(const Matrix& m, std::int64_t j, double epsilon, double spread) {
  double largest = 0;
  for (std::int64_t i = 0; i < m.rows; ++i) largest = std::max(largest, std::fabs(m(i, j)));
  const double threshold = largest * (1 - std::sqrt(epsilon));
  double sign = 0;
  bool certain = spread < kOpen;
  double first = 0;  // the largest among components that another evaluation may select
  for (std::int64_t i = 0; i < m.rows; ++i) {
    const double size = std::fabs(m(i, j));
    const double own = m(i, j) < 0 ? -1 : 1;
    if (sign == 0 && size >= threshold) sign = own;
    if (size + 2 * spread < threshold) continue;
    if (first == 0) first = own;
    certain = certain && own == first;
    if (size - 2 * spread >= threshold) break;
  }
  return {sign == 0 ? 1 : sign, certain ? 0 : kOpen};
}

Phase<Number> phase_of_column(const ComplexMatrix& m, std::int64_t j, double epsilon, double spread) {
  double largest = 0;
  for (std::int64_t i = 0; i < m.rows; ++i) largest = std::max(largest, std::abs(m(i, j)));
  const double threshold = largest * (1 - std::sqrt(epsilon));
  bool certain = true;
  for (std::int64_t i = 0; i < m.rows; ++i) {
    const double size = std::abs(m(i, j));
    if (size >= threshold) {
      certain = certain && (size - 2 * spread >= threshold || i + 1 == m.rows || spread < 0.1 * std::sqrt(epsilon));
      const double error = certain && size > 2 * spread ? 2 * spread / size + 4 * epsilon : kOpen;
      return {size == 0 ? Number(1) : std::conj(m(i, j)) / size, error};
    }
    certain = certain && size + 2 * spread < threshold;
  }
  return {1, spread};
}

template <class T>
void put_column(Array& result, const MatrixOf<T>& m, std::int64_t j, const Phase<T>& phase, double bound, bool as_row) {
  for (std::int64_t i = 0; i < m.rows; ++i) {
    const std::int64_t position = as_row ? j * m.rows + i : i * m.columns + j;
    const T z = times(phase.factor, m(i, j));
    put(result, static_cast<std::size_t>(position), as_row ? conjugate(z) : z, bound + phase.error);
  }
}

#define TDSL_FACTORS_OF(T)                               \
  template Operand<T> operand_of<T>(const Array&);       \
  template void put(Array&, const MatrixOf<T>&, double); \
  template Matrix magnitudes(const MatrixOf<T>&);        \
  template void put_column(Array&, const MatrixOf<T>&, std::int64_t, const Phase<T>&, double, bool);
TDSL_FACTORS_OF(double)
TDSL_FACTORS_OF(Number)
#undef TDSL_FACTORS_OF

}  // namespace tdsl::ir::eval
