#include <algorithm>
#include <cmath>
#include <string>

#include "ir/eval/elements.h"
#include "ir/eval/factors.h"
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

template <class T>
void require_finite(const MatrixPlace& place, const Operand<T>& a) {
  if (!a.finite) place.stop("the matrix has elements that are not finite");
}

/// Uses only the lower triangle and the real parts of the diagonal.
template <class T>
Operand<T> hermitian(Operand<T> a) {
  a.finite = true;
  for (std::int64_t i = 0; i < a.matrix.rows; ++i) {
    a.matrix(i, i) = real_part(a.matrix(i, i));
    for (std::int64_t j = i + 1; j < a.matrix.columns; ++j) a.matrix(i, j) = conjugate(a.matrix(j, i));
  }
  for (const T& x : a.matrix.elements) a.finite = a.finite && std::isfinite(std::abs(x));
  return a;
}

/// e of the note for elimination with partial pivoting. A product of numbers has the roundings of three of reals, half
/// of them in each part.
template <class T>
double elimination_error(const Operand<T>& a, const LuFactors<T>& f) {
  constexpr double kRoundings = std::is_same_v<T, double> ? 4 : 6;
  return a.backward() + kRoundings * static_cast<double>(a.matrix.rows + 1) * a.epsilon *
                            norm(product(magnitudes(f.l), magnitudes(f.u)));
}

CholeskyFactor positive_factor(const MatrixPlace& place, const Operand<double>& a) {
  CholeskyFactor f = cholesky(a.matrix);
  if (!f.positive) place.stop("the matrix is not positive definite");
  return f;
}

void cholesky(const MatrixPlace& place, const Operand<double>& given, Array& result) {
  const Operand<double> a = hermitian(given);
  const CholeskyFactor f = positive_factor(place, a);
  const double q = a.backward() * inverse_norm(a.matrix);
  put(result, f.l, amplified(2 * norm(f.l) * q, q));
}

template <class T>
void lu(const Operand<T>& a, const std::vector<std::shared_ptr<Array>>& results) {
  const LuFactors<T> f = lu(a.matrix);
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

void qr(const Operand<double>& a, Array& q_result, Array& r_result) {
  const QrFactors f = qr(a.matrix);
  const std::int64_t k = f.q.columns;
  const double e = a.backward();
  const double q = e * inverse_norm(leading(f.r, k, k));
  put(q_result, f.q, amplified(4 * q, q));
  put(r_result, f.r, amplified(4 * q * norm(f.r) + 2 * e, q));
}

/// The permutation's rows of b.
template <class T>
MatrixOf<T> permuted(const MatrixOf<T>& b, const std::vector<std::int64_t>& p) {
  MatrixOf<T> result(b.rows, b.columns);
  for (std::int64_t i = 0; i < b.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) result(i, j) = b(p[static_cast<std::size_t>(i)], j);
  }
  return result;
}

template <class T>
MatrixOf<T> solved(const LuFactors<T>& f, const MatrixOf<T>& b) {
  MatrixOf<T> x = permuted(b, f.p);
  for (std::int64_t j = 0; j < x.columns; ++j) {
    for (std::int64_t i = 0; i < x.rows; ++i) {
      for (std::int64_t k = 0; k < i; ++k) x(i, j) -= times(f.l(i, k), x(k, j));
      x(i, j) /= f.l(i, i);
    }
    for (std::int64_t i = x.rows; i-- > 0;) {
      for (std::int64_t k = i + 1; k < x.rows; ++k) x(i, j) -= times(f.u(i, k), x(k, j));
      x(i, j) /= f.u(i, i);
    }
  }
  return x;
}

/// Without the elements on one side of the diagonal.
Operand<double> triangle(Operand<double> a, bool lower) {
  for (std::int64_t i = 0; i < a.matrix.rows; ++i) {
    for (std::int64_t j = lower ? i + 1 : 0; j < (lower ? a.matrix.columns : i); ++j) a.matrix(i, j) = 0;
  }
  return a;
}

template <class T>
LuFactors<T> regular_factors(const MatrixPlace& place, const Operand<T>& a) {
  LuFactors<T> f = lu(a.matrix);
  if (f.singular) place.stop("the matrix is singular");
  return f;
}

/// A = P' L U with factors as `kind` allows; a triangle is its own factor.
LuFactors<double> factors_of(const MatrixPlace& place, const Operand<double>& a, Routine::SolveKind kind) {
  using SolveKind = Routine::SolveKind;
  if (kind == SolveKind::kGeneral) { return regular_factors(place, a); }
  LuFactors<double> f;
  for (std::int64_t i = 0; i < a.matrix.rows; ++i) f.p.push_back(i);
  if (kind == SolveKind::kPositive) {
    f.l = positive_factor(place, a).l;
    f.u = adjoint(f.l);
    return f;
  }
  for (std::int64_t i = 0; i < a.matrix.rows; ++i) {
    if (a.matrix(i, i) == 0) place.stop("the matrix is singular");
  }
  f.l = kind == SolveKind::kLower ? a.matrix : identity<double>(a.matrix.rows);
  f.u = kind == SolveKind::kLower ? identity<double>(a.matrix.rows) : a.matrix;
  return f;
}

void solve(const MatrixPlace& place, const Operand<double>& given, const Operand<double>& b, Array& result) {
  using SolveKind = Routine::SolveKind;
  const SolveKind kind = place.routine.solves;
  const Operand<double> a = kind == SolveKind::kGeneral    ? given
                            : kind == SolveKind::kPositive ? hermitian(given)
                                                           : triangle(given, kind == SolveKind::kLower);
  const LuFactors<double> f = factors_of(place, a, kind);
  const double e = kind == SolveKind::kGeneral ? elimination_error(a, f) : a.backward();
  const double inverse = inverse_norm(a.matrix);
  const double q = e * inverse;
  const Matrix x = solved(f, b.matrix);
  put(result, x, amplified(2 * inverse * (e * norm(x) + b.backward()), q));
}

template <class T>
void inv(const MatrixPlace& place, const Operand<T>& a, Array& result) {
  const LuFactors<T> f = regular_factors(place, a);
  const double e = elimination_error(a, f);
  const MatrixOf<T> x = solved(f, identity<T>(a.matrix.rows));
  const double q = e * norm(x);
  put(result, x, amplified(2 * norm(x) * q, q));
}

/// |det(A + E) - det A| <= n |E| (|A| + |E|)^(n - 1) (Bhatia), or the condition-based bound if that is smaller.
template <class T>
void det(const Operand<T>& a, Array& result) {
  const LuFactors<T> f = lu(a.matrix);
  constexpr double kRoundings = std::is_same_v<T, double> ? 1 : 4;  // of a product
  const auto n = static_cast<double>(a.matrix.rows);
  T value = f.odd ? -1 : 1;
  for (std::int64_t k = 0; k < a.matrix.rows; ++k) value = times(value, f.u(k, k));
  const double e = elimination_error(a, f);
  const double q = e * inverse_norm(a.matrix);
  const double general = n * e * std::pow(norm(a.matrix) + e, n - 1);
  const double conditioned = amplified(2 * std::sqrt(n) * q * std::abs(value), q * n);
  const double rounding = n == 0 ? 0 : kRoundings * (n + 1) * a.epsilon * std::abs(value);
  put(result, 0, value, (n == 0 ? 0 : std::min(general, conditioned)) + rounding);
}

template <class T>
void svd(const MatrixPlace& place, const Operand<T>& a, const std::vector<std::shared_ptr<Array>>& results) {
  require_finite(place, a);
  const SingularValues<T> f = singular_values(a.matrix);
  const double e = a.backward();
  for (std::size_t j = 0; j < f.s.size(); ++j) put(*results[1], j, f.s[j], e);
  for (std::int64_t j = 0; j < f.u.columns; ++j) {
    const double gap = gap_of(f.s, j);
    const double own = f.s[static_cast<std::size_t>(j)];
    const double u_bound = turn(e, a.matrix.rows > a.matrix.columns ? std::min(gap, own) : gap);
    const double v_bound = turn(e, a.matrix.columns > a.matrix.rows ? std::min(gap, own) : gap);
    // One phase for both vectors: certain if U's is certain and the two are coupled.
    const Phase<T> phase = phase_of_column(f.u, j, a.epsilon, own > 2 * e ? u_bound : kOpen);
    put_column(*results[0], f.u, j, phase, u_bound, false);
    put_column(*results[2], f.v, j, phase, v_bound, true);
  }
}

template <class T>
void eigh(const MatrixPlace& place, const Operand<T>& given, const std::vector<std::shared_ptr<Array>>& results) {
  const Operand<T> a = hermitian(given);
  require_finite(place, a);
  const Eigen<T> f = hermitian_eigen(a.matrix);
  const double e = a.backward();
  for (std::size_t j = 0; j < f.values.size(); ++j) put(*results[0], j, f.values[j], e);
  for (std::int64_t j = 0; j < f.vectors.columns; ++j) {
    const double bound = turn(e, gap_of(f.values, j));
    put_column(*results[1], f.vectors, j, phase_of_column(f.vectors, j, a.epsilon, bound), bound, false);
  }
}

/// The minimum-norm least-squares solution; singular values below max(m, n) eps s0 count as 0 (NumPy's rule).
void lstsq(const MatrixPlace& place, const Operand<double>& a, const Operand<double>& b, Array& result) {
  require_finite(place, a);
  require_finite(place, b);
  const SingularValues<double> f = singular_values(a.matrix);
  const auto larger = static_cast<double>(std::max(a.matrix.rows, a.matrix.columns));
  const double cut = f.s.empty() ? 0 : larger * a.epsilon * f.s[0];
  const double e = a.backward();
  Matrix weights = product(adjoint(f.u), b.matrix);
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

template <class T>
void evaluate_matrix_of(const MatrixPlace& place, const Array& operand,
                        const std::vector<std::shared_ptr<Array>>& results) {
  const Operand<T> a = operand_of<T>(operand);
  switch (place.routine.kind) {
    case Routine::Kind::kLu: lu(a, results); return;
    case Routine::Kind::kSvd: svd(place, a, results); return;
    case Routine::Kind::kEigh: eigh(place, a, results); return;
    case Routine::Kind::kInv: inv(place, a, *results.at(0)); return;
    case Routine::Kind::kDet: det(a, *results.at(0)); return;
    default: TDSL_CHECK(false, "a factorisation");
  }
}

}  // namespace

void evaluate_matrix(const MatrixPlace& place, const std::vector<const Array*>& operands,
                     const std::vector<std::shared_ptr<Array>>& results) {
  const Array& a = *operands.at(0);
  const auto operand = [&](std::size_t k) { return operand_of<double>(*operands.at(k)); };
  switch (place.routine.kind) {
    case Routine::Kind::kEig: evaluate_eig(place, a, results); return;
    case Routine::Kind::kSolve: solve(place, operand(0), operand(1), *results.at(0)); return;
    case Routine::Kind::kCholesky: cholesky(place, operand(0), *results.at(0)); return;
    case Routine::Kind::kQr: qr(operand(0), *results.at(0), *results.at(1)); return;
    case Routine::Kind::kLstsq: lstsq(place, operand(0), operand(1), *results.at(0)); return;
    default: break;
  }
  if (is_complex(a.type)) return evaluate_matrix_of<Number>(place, a, results);
  evaluate_matrix_of<double>(place, a, results);
}

}  // namespace tdsl::ir::eval
