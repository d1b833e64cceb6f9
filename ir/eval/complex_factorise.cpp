#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "ir/eval/complex_linear.h"
#include "ir/eval/perturbation.h"
#include "ir/eval/routine.h"
#include "ir/graph/check.h"

// Factorisations of complex matrices, with the bounds of factorise.cpp; the radius of a disc is that bound.

namespace tdsl::ir::eval {

namespace {

struct ComplexOperand {
  ComplexMatrix matrix;
  double error = 0;  ///< norm of the elements' radii
  double epsilon = 0;
  bool finite = true;

  [[nodiscard]] double backward() const {
    const auto n = static_cast<double>(std::max<std::int64_t>({matrix.rows, matrix.columns, 1}));
    return error + kUnits * n * epsilon * norm(matrix);
  }
};

ComplexOperand complex_operand(const Array& a) {
  ComplexOperand result;
  result.matrix = ComplexMatrix(a.shape.at(0), a.shape.at(1));
  for (std::size_t k = 0; k < a.floats.size(); ++k) {
    const Real z = real_element(a, k);
    result.matrix.elements[k] = {z.value, z.imag};
    result.error = std::hypot(result.error, z.bound);
    result.finite = result.finite && is_finite(z);
  }
  result.epsilon = is_narrow(a.type) ? kEpsilon<float> : kEpsilon<double>;
  return result;
}

/// Uses only the lower triangle and the real parts of the diagonal.
ComplexOperand hermitian(ComplexOperand a) {
  a.finite = true;
  for (std::int64_t i = 0; i < a.matrix.rows; ++i) {
    a.matrix(i, i) = a.matrix(i, i).real();
    for (std::int64_t j = i + 1; j < a.matrix.columns; ++j) a.matrix(i, j) = std::conj(a.matrix(j, i));
  }
  for (const Number& z : a.matrix.elements) a.finite = a.finite && std::isfinite(z.real()) && std::isfinite(z.imag());
  return a;
}

void put_number(Array& result, std::size_t position, const Number& value, double bound) {
  const auto rounded = [&](double x) {
    return is_narrow(result.type) ? static_cast<double>(static_cast<float>(x)) : x;
  };
  const double unit = is_narrow(result.type) ? kEpsilon<float> : kEpsilon<double>;
  const Real z{rounded(value.real()), 0, rounded(value.imag())};
  const double radius = bound + unit * std::abs(value);
  set_element(result, position, {{z.value, is_finite(z) && radius == radius ? radius : kOpen, z.imag}, {}});
}

void put_numbers(Array& result, const ComplexMatrix& m, double bound) {
  for (std::size_t k = 0; k < m.elements.size(); ++k) put_number(result, k, m.elements[k], bound);
}

double elimination_error(const ComplexOperand& a, const ComplexLu& f) {
  double products = 0;
  for (std::int64_t i = 0; i < f.l.rows; ++i) {
    for (std::int64_t j = 0; j < f.u.columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < f.l.columns; ++k) sum += std::abs(f.l(i, k)) * std::abs(f.u(k, j));
      products = std::hypot(products, sum);
    }
  }
  return a.backward() + 6 * static_cast<double>(a.matrix.rows + 1) * a.epsilon * products;
}

ComplexMatrix leading_part(const ComplexMatrix& a, std::int64_t size) {
  ComplexMatrix result(size, size);
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < size; ++j) result(i, j) = a(i, j);
  }
  return result;
}

void complex_lu(const ComplexOperand& a, const std::vector<std::shared_ptr<Array>>& results) {
  const ComplexLu f = lu(a.matrix);
  const std::int64_t k = f.l.columns;
  const double e = elimination_error(a, f);
  const bool certain = a.finite && pivots_are_certain(a.matrix, e, a.error == 0);
  const double l_inverse = inverse_norm(leading_part(f.l, k));
  const double u_inverse = inverse_norm(leading_part(f.u, k));
  const double q = e * l_inverse * u_inverse;
  const double l_bound = 2 * norm(f.l) * q;
  const double u_bound = 2 * norm(f.u) * q;
  const double l_all = l_bound + (a.matrix.rows > k ? 2 * u_inverse * (e + norm(f.l) * u_bound) : 0);
  const double u_all = u_bound + (a.matrix.columns > k ? 2 * l_inverse * (e + norm(f.u) * l_bound) : 0);
  for (std::size_t i = 0; i < f.p.size(); ++i) {
    results[0]->integers[i] = f.p[i];
    set_bound(*results[0], i, certain ? 0 : kOpen);
  }
  put_numbers(*results[1], f.l, certain ? amplified(l_all, q) : kOpen);
  put_numbers(*results[2], f.u, certain ? amplified(u_all, q) : kOpen);
}

void complex_inverse(const MatrixPlace& place, const ComplexOperand& a, Array& result) {
  const ComplexLu f = lu(a.matrix);
  if (f.singular) place.stop("the matrix is singular");
  const ComplexMatrix x = inverse(a.matrix);
  const double q = elimination_error(a, f) * norm(x);
  put_numbers(result, x, amplified(2 * norm(x) * q, q));
}

void complex_det(const ComplexOperand& a, Array& result) {
  const ComplexLu f = lu(a.matrix);
  const auto n = static_cast<double>(a.matrix.rows);
  Number value = f.odd ? -1 : 1;
  for (std::int64_t k = 0; k < a.matrix.rows; ++k) value = times(value, f.u(k, k));
  const double e = elimination_error(a, f);
  const double q = e * inverse_norm(a.matrix);
  const double general = n * e * std::pow(norm(a.matrix) + e, n - 1);
  const double conditioned = amplified(2 * std::sqrt(n) * q * std::abs(value), q * n);
  const double rounding = n == 0 ? 0 : 4 * (n + 1) * a.epsilon * std::abs(value);
  put_number(result, 0, value, (n == 0 ? 0 : std::min(general, conditioned)) + rounding);
}

/// The factor that makes the largest component of column j real and positive; among components equal up to the square
/// root of the rounding unit the first counts. `spread`: bound of the components' errors, which grows by that of the
/// factor; open if another component may be taken.
Number phase_of_column(const ComplexMatrix& m, std::int64_t j, double epsilon, double& spread) {
  double largest = 0;
  for (std::int64_t i = 0; i < m.rows; ++i) largest = std::max(largest, std::abs(m(i, j)));
  const double threshold = largest * (1 - std::sqrt(epsilon));
  bool certain = true;
  for (std::int64_t i = 0; i < m.rows; ++i) {
    const double size = std::abs(m(i, j));
    if (size >= threshold) {
      certain = certain && (size - 2 * spread >= threshold || i + 1 == m.rows || spread < 0.1 * std::sqrt(epsilon));
      spread = certain && size > 2 * spread ? spread * (1 + 2 / size) : kOpen;
      return size == 0 ? Number(1) : std::conj(m(i, j)) / size;
    }
    certain = certain && size + 2 * spread < threshold;
  }
  return 1;
}

void put_vector(Array& result, const ComplexMatrix& m, std::int64_t j, const Number& factor, double bound,
                bool as_row) {
  for (std::int64_t i = 0; i < m.rows; ++i) {
    const std::int64_t position = as_row ? j * m.rows + i : i * m.columns + j;
    const Number z = times(factor, m(i, j));
    put_number(result, static_cast<std::size_t>(position), as_row ? std::conj(z) : z, bound);
  }
}

[[noreturn]] void not_finite(const MatrixPlace& place) { place.stop("the matrix has elements that are not finite"); }

void complex_svd(const MatrixPlace& place, const ComplexOperand& a,
                 const std::vector<std::shared_ptr<Array>>& results) {
  if (!a.finite) not_finite(place);
  const ComplexSingular f = singular_values(a.matrix);
  const double e = a.backward();
  for (std::size_t j = 0; j < f.s.size(); ++j) put_number(*results[1], j, f.s[j], e);
  for (std::int64_t j = 0; j < f.u.columns; ++j) {
    const double gap = gap_of(f.s, j);
    const double own = f.s[static_cast<std::size_t>(j)];
    double u_bound = turn(e, a.matrix.rows > a.matrix.columns ? std::min(gap, own) : gap);
    const double v_bound = turn(e, a.matrix.columns > a.matrix.rows ? std::min(gap, own) : gap);
    // One phase for both vectors: certain if U's is certain and the two are coupled.
    if (!(own > 2 * e)) u_bound = kOpen;
    const Number phase = phase_of_column(f.u, j, a.epsilon, u_bound);
    put_vector(*results[0], f.u, j, phase, u_bound, false);
    put_vector(*results[2], f.v, j, phase, u_bound < kOpen ? v_bound + u_bound : kOpen, true);
  }
}

void complex_eigh(const MatrixPlace& place, const ComplexOperand& given,
                  const std::vector<std::shared_ptr<Array>>& results) {
  const ComplexOperand a = hermitian(given);
  if (!a.finite) not_finite(place);
  const HermitianEigen f = hermitian_eigen(a.matrix);
  const double e = a.backward();
  for (std::size_t j = 0; j < f.values.size(); ++j) put_number(*results[0], j, f.values[j], e);
  for (std::int64_t j = 0; j < f.vectors.columns; ++j) {
    double bound = turn(e, gap_of(f.values, j));
    const Number phase = phase_of_column(f.vectors, j, a.epsilon, bound);
    put_vector(*results[1], f.vectors, j, phase, bound, false);
  }
}

/// The eigenvalues in the language's order (rt::routines::sort_spectrum): by real part, and by imaginary part among
/// those whose real parts follow each other closely. `groups`: the number of the group of each place.
struct OrderOfValues {
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> groups;
  bool certain = true;
};
OrderOfValues order_of_values(const Spectrum& f, const std::vector<double>& radii, double epsilon) {
  OrderOfValues order;
  order.places.resize(f.values.size());
  std::iota(order.places.begin(), order.places.end(), std::int64_t{0});
  const auto value = [&](std::int64_t k) { return f.values[static_cast<std::size_t>(k)]; };
  const auto radius = [&](std::int64_t k) { return radii[static_cast<std::size_t>(k)]; };
  std::ranges::stable_sort(order.places, {}, [&](std::int64_t k) { return value(k).real(); });
  double largest = 0;
  for (const Number& w : f.values) largest = std::max(largest, std::abs(w));
  const double close = std::sqrt(epsilon) * largest;
  for (std::size_t first = 0; first < order.places.size();) {
    std::size_t end = first + 1;
    for (; end < order.places.size(); ++end) {
      const std::int64_t a = order.places[end - 1], b = order.places[end];
      const double apart = value(b).real() - value(a).real();
      if (!(std::fabs(apart - close) > radius(a) + radius(b)) && close > 0) order.certain = false;
      if (!(apart < close || apart == 0)) break;
    }
    const auto begin = order.places.begin();
    std::stable_sort(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end),
                     [&](std::int64_t a, std::int64_t b) { return value(a).imag() < value(b).imag(); });
    order.groups.resize(end, static_cast<std::int64_t>(first));
    first = end;
  }
  return order;
}

void complex_eig(const MatrixPlace& place, const ComplexOperand& a,
                 const std::vector<std::shared_ptr<Array>>& results) {
  if (!a.finite) not_finite(place);
  const Spectrum f = spectrum_of(a.matrix);
  if (!f.converged) place.stop("no convergence");
  const double e = a.backward();
  const std::size_t n = f.values.size();
  std::vector<double> radii;
  for (const double condition : f.conditions) radii.push_back(e * condition);
  const OrderOfValues order = order_of_values(f, radii, a.epsilon);
  for (std::size_t number = 0; number < n; ++number) {
    const std::int64_t j = order.places[number];
    const auto at = static_cast<std::size_t>(j);
    double bound = radii[at];
    double turned = 0;
    for (std::size_t k = 0; k < n; ++k) {
      if (k == at) continue;
      const double gap = std::abs(f.values[k] - f.values[at]);
      turned +=
          radii[k] > 0 ? (gap > 4 * (radii[k] + radii[at]) ? radii[k] / (gap - 2 * (radii[k] + radii[at])) : kOpen) : 0;
    }
    // Values whose order is open may change places.
    for (std::size_t other = 0; other < n; ++other) {
      const auto k = static_cast<std::size_t>(order.places[other]);
      const Number apart = f.values[k] - f.values[at];
      const bool open = order.groups[other] == order.groups[number] ? std::fabs(apart.imag()) <= radii[k] + radii[at]
                                                                    : std::fabs(apart.real()) <= radii[k] + radii[at];
      if (k == at || !open) continue;
      bound = std::max(bound, std::abs(apart) + radii[k]);
      turned = kOpen;
    }
    if (!order.certain) bound = turned = kOpen;
    put_number(*results[0], number, f.values[at], bound);
    double spread = turned < 0.25 ? 4 * turned : kOpen;
    const Number phase = phase_of_column(f.vectors, j, a.epsilon, spread);
    for (std::int64_t i = 0; i < f.vectors.rows; ++i)
      put_number(*results[1], static_cast<std::size_t>(i) * n + number, times(phase, f.vectors(i, j)), spread);
  }
}

}  // namespace

void evaluate_complex_matrix(const MatrixPlace& place, const Array& operand,
                             const std::vector<std::shared_ptr<Array>>& results) {
  const ComplexOperand a = complex_operand(operand);
  switch (place.routine.kind) {
    case Routine::Kind::kLu: complex_lu(a, results); return;
    case Routine::Kind::kInv: complex_inverse(place, a, *results.at(0)); return;
    case Routine::Kind::kDet: complex_det(a, *results.at(0)); return;
    case Routine::Kind::kSvd: complex_svd(place, a, results); return;
    case Routine::Kind::kEigh: complex_eigh(place, a, results); return;
    case Routine::Kind::kEig: complex_eig(place, a, results); return;
    default: TDSL_CHECK(false, "a factorisation of complex matrices");
  }
}

}  // namespace tdsl::ir::eval
