#include <algorithm>
#include <cmath>
#include <string>

#include "ir/eval/linear.h"
#include "ir/eval/perturbation.h"
#include "ir/eval/routine.h"
#include "ir/graph/check.h"

// Note [Bounds of factorisations] Every algorithm in practical use is backward stable: its result is exact for a matrix
// A + E with |E| <= e, a small multiple of the rounding unit times |A| (for LU: times | |L| |U| |, which includes the
// growth). The operands' own bounds add to e. First-order perturbation theory then bounds the change of results, with
// the condition measured on the computed factors; where it gives no useful bound (q = e |A^-1| >= 1/4, clustered
// singular values, near ties between pivots), results are open. Norms are Frobenius norms. Sources: Higham, Accuracy
// and Stability of Numerical Algorithms, chapters 7, 9, 10, 19; Stewart and Sun, Matrix Perturbation Theory, chapters
// III to V.

namespace tdsl::ir::eval {

namespace {

/// A matrix operand: its elements, their error bounds, and the rounding unit of its type.
struct Operand {
  Matrix matrix;
  double error = 0;  ///< norm of the elements' bounds
  double epsilon = 0;
  bool finite = true;

  /// e of the note, for algorithms that use orthogonal transformations or the positive definite structure.
  [[nodiscard]] double backward() const {
    const auto n = static_cast<double>(std::max<std::int64_t>({matrix.rows, matrix.columns, 1}));
    return error + kUnits * n * epsilon * norm(matrix);
  }
};

/// A vector is a matrix of one column.
Operand operand_of(const Array& a) {
  Operand result;
  const bool vector = a.shape.size() == 1;
  result.matrix = Matrix(a.shape.at(0), vector ? 1 : a.shape.at(1));
  result.matrix.elements = a.floats;
  result.epsilon = a.type == Scalar::kF32 ? kEpsilon<float> : kEpsilon<double>;
  for (const double bound : a.bounds) result.error = std::hypot(result.error, bound);
  result.finite = std::ranges::all_of(a.floats, [](double x) { return std::isfinite(x); });
  return result;
}

/// Uses only the lower triangle: the upper one becomes its mirror image.
Operand symmetric(Operand a) {
  for (std::int64_t i = 0; i < a.matrix.rows; ++i) {
    for (std::int64_t j = i + 1; j < a.matrix.columns; ++j) a.matrix(i, j) = a.matrix(j, i);
  }
  a.finite = std::ranges::all_of(a.matrix.elements, [](double x) { return std::isfinite(x); });
  return a;
}

void put(Array& result, std::size_t position, double value, double bound) {
  result.floats[position] = result.type == Scalar::kF32 ? static_cast<double>(static_cast<float>(value)) : value;
  set_bound(result, position, std::isfinite(value) && bound == bound ? bound : kOpen);
}

/// Writes a matrix (or a vector of one column) with the error bound `bound` for all elements.
void put(Array& result, const Matrix& m, double bound) {
  const double unit = result.type == Scalar::kF32 ? kEpsilon<float> : kEpsilon<double>;
  for (std::size_t k = 0; k < m.elements.size(); ++k)
    put(result, k, m.elements[k], bound + unit * std::fabs(m.elements[k]));
}

/// e of the note for elimination with partial pivoting.
double elimination_error(const Operand& a, const LuFactors& f) {
  Matrix l = f.l;
  Matrix u = f.u;
  for (double& x : l.elements) x = std::fabs(x);
  for (double& x : u.elements) x = std::fabs(x);
  return a.backward() + 4 * static_cast<double>(a.matrix.rows + 1) * a.epsilon * norm(product(l, u));
}

void require_finite(const MatrixPlace& place, const Operand& a) {
  if (!a.finite) place.stop("the matrix has elements that are not finite");
}

CholeskyFactor positive_factor(const MatrixPlace& place, const Operand& a) {
  CholeskyFactor f = cholesky(a.matrix);
  if (!f.positive) place.stop("the matrix is not positive definite");
  return f;
}

void cholesky(const MatrixPlace& place, const Operand& given, Array& result) {
  const Operand a = symmetric(given);
  const CholeskyFactor f = positive_factor(place, a);
  const double q = a.backward() * inverse_norm(a.matrix);
  put(result, f.l, amplified(2 * norm(f.l) * q, q));
}

void lu(const Operand& a, const std::vector<std::shared_ptr<Array>>& results) {
  const LuFactors f = lu(a.matrix);
  const std::int64_t k = f.l.columns;
  const double e = elimination_error(a, f);
  const bool certain = a.finite && pivots_are_certain(a.matrix, e, a.error == 0);
  const double l_inverse = inverse_norm(leading(f.l, k, k));
  const double u_inverse = inverse_norm(leading(f.u, k, k));
  const double q = e * l_inverse * u_inverse;
  // The square part, then the rows below it (L2 = A2 U1^-1) and the columns next to it (U2 = L1^-1 A2).
  const double l_bound = 2 * norm(f.l) * q;
  const double u_bound = 2 * norm(f.u) * q;
  const double l_all = l_bound + (a.matrix.rows > k ? 2 * u_inverse * (e + norm(f.l) * u_bound) : 0);
  const double u_all = u_bound + (a.matrix.columns > k ? 2 * l_inverse * (e + norm(f.u) * l_bound) : 0);
  for (std::size_t i = 0; i < f.p.size(); ++i) {
    results[0]->integers[i] = f.p[i];
    set_bound(*results[0], i, certain ? 0 : kOpen);
  }
  put(*results[1], f.l, certain ? amplified(l_all, q) : kOpen);
  put(*results[2], f.u, certain ? amplified(u_all, q) : kOpen);
}

void qr(const Operand& a, Array& q_result, Array& r_result) {
  const QrFactors f = qr(a.matrix);
  const std::int64_t k = f.q.columns;
  const double e = a.backward();
  const double q = e * inverse_norm(leading(f.r, k, k));
  put(q_result, f.q, amplified(4 * q, q));
  put(r_result, f.r, amplified(4 * q * norm(f.r) + 2 * e, q));
}

/// The permutation's rows of b.
Matrix permuted(const Matrix& b, const std::vector<std::int64_t>& p) {
  Matrix result(b.rows, b.columns);
  for (std::int64_t i = 0; i < b.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) result(i, j) = b(p[static_cast<std::size_t>(i)], j);
  }
  return result;
}

Matrix solved(const LuFactors& f, const Matrix& b) {
  Matrix x = permuted(b, f.p);
  for (std::int64_t j = 0; j < x.columns; ++j) {
    for (std::int64_t i = 0; i < x.rows; ++i) {
      for (std::int64_t k = 0; k < i; ++k) x(i, j) -= f.l(i, k) * x(k, j);
      x(i, j) /= f.l(i, i);
    }
    for (std::int64_t i = x.rows; i-- > 0;) {
      for (std::int64_t k = i + 1; k < x.rows; ++k) x(i, j) -= f.u(i, k) * x(k, j);
      x(i, j) /= f.u(i, i);
    }
  }
  return x;
}

/// Without the elements on one side of the diagonal.
Operand triangle(Operand a, bool lower) {
  for (std::int64_t i = 0; i < a.matrix.rows; ++i) {
    for (std::int64_t j = lower ? i + 1 : 0; j < (lower ? a.matrix.columns : i); ++j) a.matrix(i, j) = 0;
  }
  return a;
}

/// A = P' L U with factors as `kind` allows; a triangle is its own factor.
LuFactors factors_of(const MatrixPlace& place, const Operand& a, Routine::SolveKind kind) {
  using SolveKind = Routine::SolveKind;
  if (kind == SolveKind::kGeneral) {
    LuFactors f = lu(a.matrix);
    if (f.singular) place.stop("the matrix is singular");
    return f;
  }
  LuFactors f;
  for (std::int64_t i = 0; i < a.matrix.rows; ++i) f.p.push_back(i);
  if (kind == SolveKind::kPositive) {
    f.l = positive_factor(place, a).l;
    f.u = transposed(f.l);
    return f;
  }
  for (std::int64_t i = 0; i < a.matrix.rows; ++i) {
    if (a.matrix(i, i) == 0) place.stop("the matrix is singular");
  }
  f.l = kind == SolveKind::kLower ? a.matrix : identity(a.matrix.rows);
  f.u = kind == SolveKind::kLower ? identity(a.matrix.rows) : a.matrix;
  return f;
}

void solve(const MatrixPlace& place, const Operand& given, const Operand& b, Array& result) {
  using SolveKind = Routine::SolveKind;
  const SolveKind kind = place.routine.solves;
  const Operand a = kind == SolveKind::kGeneral    ? given
                    : kind == SolveKind::kPositive ? symmetric(given)
                                                   : triangle(given, kind == SolveKind::kLower);
  const LuFactors f = factors_of(place, a, kind);
  const double e = kind == SolveKind::kGeneral ? elimination_error(a, f) : a.backward();
  const double inverse = inverse_norm(a.matrix);
  const double q = e * inverse;
  const Matrix x = solved(f, b.matrix);
  put(result, x, amplified(2 * inverse * (e * norm(x) + b.backward()), q));
}

void inv(const MatrixPlace& place, const Operand& a, Array& result) {
  const LuFactors f = factors_of(place, a, Routine::SolveKind::kGeneral);
  const double e = elimination_error(a, f);
  const Matrix x = solved(f, identity(a.matrix.rows));
  const double q = e * norm(x);
  put(result, x, amplified(2 * norm(x) * q, q));
}

/// |det(A + E) - det A| <= n |E| (|A| + |E|)^(n - 1) (Bhatia), or the condition-based bound if that is smaller.
void det(const Operand& a, Array& result) {
  const LuFactors f = lu(a.matrix);
  const auto n = static_cast<double>(a.matrix.rows);
  double value = f.odd ? -1 : 1;
  for (std::int64_t k = 0; k < a.matrix.rows; ++k) value *= f.u(k, k);
  const double e = elimination_error(a, f);
  const double q = e * inverse_norm(a.matrix);
  const double general = n * e * std::pow(norm(a.matrix) + e, n - 1);
  const double conditioned = amplified(2 * std::sqrt(n) * q * std::fabs(value), q * n);
  const double rounding = n == 0 ? 0 : (n + 1) * a.epsilon * std::fabs(value);
  put(result, 0, value, (n == 0 ? 0 : std::min(general, conditioned)) + rounding);
}

/// The sign that makes the largest component of column j positive. Among components equal up to the square root of the
/// rounding unit the first counts, so that ties do not depend on rounding. `spread`: error bound of components;
/// `certain` becomes false if another sign is possible.
double sign_of_column(const Matrix& m, std::int64_t j, double epsilon, double spread, bool& certain) {
  double largest = 0;
  for (std::int64_t i = 0; i < m.rows; ++i) largest = std::max(largest, std::fabs(m(i, j)));
  const double threshold = largest * (1 - std::sqrt(epsilon));
  double sign = 0;
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
  return sign == 0 ? 1 : sign;
}

void put_column(Array& result, const Matrix& m, std::int64_t j, double sign, double bound, bool as_row) {
  for (std::int64_t i = 0; i < m.rows; ++i) {
    const std::int64_t position = as_row ? j * m.rows + i : i * m.columns + j;
    put(result, static_cast<std::size_t>(position), sign * m(i, j), bound);
  }
}

void svd(const MatrixPlace& place, const Operand& a, const std::vector<std::shared_ptr<Array>>& results) {
  require_finite(place, a);
  const SingularValues f = singular_values(a.matrix);
  const double e = a.backward();
  for (std::size_t j = 0; j < f.s.size(); ++j) put(*results[1], j, f.s[j], e);
  for (std::int64_t j = 0; j < f.u.columns; ++j) {
    const double gap = gap_of(f.s, j);
    const double own = f.s[static_cast<std::size_t>(j)];
    const double u_bound = turn(e, a.matrix.rows > a.matrix.columns ? std::min(gap, own) : gap);
    const double v_bound = turn(e, a.matrix.columns > a.matrix.rows ? std::min(gap, own) : gap);
    // One sign for both vectors: certain if U's sign is certain and the two signs are coupled.
    bool certain = own > 2 * e && u_bound < kOpen;
    const double sign = sign_of_column(f.u, j, a.epsilon, u_bound, certain);
    put_column(*results[0], f.u, j, sign, certain ? u_bound : kOpen, false);
    put_column(*results[2], f.v, j, sign, certain ? v_bound : kOpen, true);
  }
}

void eigh(const MatrixPlace& place, const Operand& given, const std::vector<std::shared_ptr<Array>>& results) {
  const Operand a = symmetric(given);
  require_finite(place, a);
  const Eigen f = symmetric_eigen(a.matrix);
  const double e = a.backward();
  for (std::size_t j = 0; j < f.values.size(); ++j) put(*results[0], j, f.values[j], e);
  for (std::int64_t j = 0; j < f.vectors.columns; ++j) {
    const double bound = turn(e, gap_of(f.values, j));
    bool certain = bound < kOpen;
    const double sign = sign_of_column(f.vectors, j, a.epsilon, bound, certain);
    put_column(*results[1], f.vectors, j, sign, certain ? bound : kOpen, false);
  }
}

/// The minimum-norm least-squares solution; singular values below max(m, n) eps s0 count as 0 (NumPy's rule).
void lstsq(const MatrixPlace& place, const Operand& a, const Operand& b, Array& result) {
  require_finite(place, a);
  require_finite(place, b);
  const SingularValues f = singular_values(a.matrix);
  const auto larger = static_cast<double>(std::max(a.matrix.rows, a.matrix.columns));
  const double cut = f.s.empty() ? 0 : larger * a.epsilon * f.s[0];
  const double e = a.backward();
  Matrix weights = product(transposed(f.u), b.matrix);
  double least = kOpen;
  double most_cut = 0;
  for (std::int64_t k = 0; k < weights.rows; ++k) {
    const double s = f.s[static_cast<std::size_t>(k)];
    const bool counts = s > cut;
    if (counts)
      least = s;
    else
      most_cut = std::max(most_cut, s);
    for (std::int64_t j = 0; j < weights.columns; ++j) weights(k, j) = counts ? weights(k, j) / s : 0;
  }
  const Matrix x = product(f.v, weights);
  Matrix residual = product(a.matrix, x);
  for (std::size_t k = 0; k < residual.elements.size(); ++k) residual.elements[k] -= b.matrix.elements[k];
  const double gap = least - most_cut;
  const bool certain = least > 2 * (e + cut) && most_cut + (most_cut > 0 ? e : 0) <= cut;
  const double inverse = 1 / gap;
  const double q = e * inverse;
  const double bound = 4 * inverse * (e * norm(x) + b.backward()) + 4 * inverse * inverse * e * norm(residual);
  put(result, x, certain ? amplified(bound, q) : kOpen);
}

}  // namespace

void evaluate_matrix(const MatrixPlace& place, const std::vector<const Array*>& operands,
                     const std::vector<std::shared_ptr<Array>>& results) {
  if (is_complex(operands.at(0)->type)) return evaluate_complex_matrix(place, *operands[0], results);
  const Operand a = operand_of(*operands.at(0));
  switch (place.routine.kind) {
    case Routine::Kind::kSolve: solve(place, a, operand_of(*operands.at(1)), *results.at(0)); return;
    case Routine::Kind::kCholesky: cholesky(place, a, *results.at(0)); return;
    case Routine::Kind::kLu: lu(a, results); return;
    case Routine::Kind::kQr: qr(a, *results.at(0), *results.at(1)); return;
    case Routine::Kind::kSvd: svd(place, a, results); return;
    case Routine::Kind::kEigh: eigh(place, a, results); return;
    case Routine::Kind::kInv: inv(place, a, *results.at(0)); return;
    case Routine::Kind::kDet: det(a, *results.at(0)); return;
    case Routine::Kind::kLstsq: lstsq(place, a, operand_of(*operands.at(1)), *results.at(0)); return;
    default: TDSL_CHECK(false, "a factorisation");
  }
}

}  // namespace tdsl::ir::eval
