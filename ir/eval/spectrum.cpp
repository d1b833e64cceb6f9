#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/eval/linear.h"

// Eigenvalues of a general matrix: A = Q T Q^H with T upper triangular, by Hessenberg form and shifted QR steps.

namespace tdsl::ir::eval {

namespace {

struct Schur {
  ComplexMatrix t;
  ComplexMatrix q;
  bool converged = true;
};

/// Zeroes the elements below the first subdiagonal by Householder reflections.
void reduce_to_hessenberg(Schur& f) {
  const std::int64_t n = f.t.rows;
  for (std::int64_t k = 0; k + 2 < n; ++k) {
    std::vector<Number> v(static_cast<std::size_t>(n));
    double length = 0;
    for (std::int64_t i = k + 1; i < n; ++i) {
      v[static_cast<std::size_t>(i)] = f.t(i, k);
      length = std::hypot(length, std::abs(f.t(i, k)));
    }
    if (length == 0) continue;
    Number& first = v[static_cast<std::size_t>(k + 1)];
    first += std::abs(first) == 0 ? Number(length) : first / std::abs(first) * length;
    double square = 0;
    for (const Number& x : v) square += std::norm(x);
    for (std::int64_t j = 0; j < n; ++j) {
      Number along = 0;
      for (std::int64_t i = k + 1; i < n; ++i) along += times(std::conj(v[static_cast<std::size_t>(i)]), f.t(i, j));
      along *= 2 / square;
      for (std::int64_t i = k + 1; i < n; ++i) f.t(i, j) -= times(v[static_cast<std::size_t>(i)], along);
    }
    for (ComplexMatrix* const m : {&f.t, &f.q}) {
      for (std::int64_t i = 0; i < n; ++i) {
        Number along = 0;
        for (std::int64_t j = k + 1; j < n; ++j) along += times((*m)(i, j), v[static_cast<std::size_t>(j)]);
        along *= 2 / square;
        for (std::int64_t j = k + 1; j < n; ++j) (*m)(i, j) -= times(along, std::conj(v[static_cast<std::size_t>(j)]));
      }
    }
    for (std::int64_t i = k + 2; i < n; ++i) f.t(i, k) = 0;
  }
}

/// The eigenvalue of the last 2 x 2 block that is nearest to its last element.
Number shift_of(const ComplexMatrix& t, std::int64_t hi) {
  const Number a = t(hi - 1, hi - 1), b = t(hi - 1, hi), c = t(hi, hi - 1), d = t(hi, hi);
  const Number half = 0.5 * (a - d);
  const Number root = std::sqrt(half * half + b * c);
  const Number one = d + half + root, other = d + half - root;
  return std::abs(one - d) < std::abs(other - d) ? one : other;
}

/// One QR step on rows and columns [lo, hi].
void qr_step(Schur& f, std::int64_t lo, std::int64_t hi, const Number& shift) {
  const std::int64_t n = f.t.rows;
  for (std::int64_t i = lo; i <= hi; ++i) f.t(i, i) -= shift;
  std::vector<std::pair<Number, Number>> rotations;
  for (std::int64_t k = lo; k < hi; ++k) {
    Number a = f.t(k, k), b = f.t(k + 1, k);
    const double length = std::hypot(std::abs(a), std::abs(b));
    a = length == 0 ? Number(1) : a / length;
    b = length == 0 ? Number(0) : b / length;
    rotations.emplace_back(a, b);
    for (std::int64_t j = k; j < n; ++j) {
      const Number x = f.t(k, j), y = f.t(k + 1, j);
      f.t(k, j) = times(std::conj(a), x) + times(std::conj(b), y);
      f.t(k + 1, j) = times(a, y) - times(b, x);
    }
  }
  for (std::int64_t k = lo; k < hi; ++k) {
    const auto& [a, b] = rotations[static_cast<std::size_t>(k - lo)];
    for (ComplexMatrix* const m : {&f.t, &f.q}) {
      const std::int64_t rows = m == &f.q ? n : std::min(k + 2, hi + 1);
      for (std::int64_t i = 0; i < rows; ++i) {
        const Number x = (*m)(i, k), y = (*m)(i, k + 1);
        (*m)(i, k) = times(x, a) + times(y, b);
        (*m)(i, k + 1) = times(y, std::conj(a)) - times(x, std::conj(b));
      }
    }
  }
  for (std::int64_t i = lo; i <= hi; ++i) f.t(i, i) += shift;
}

Schur schur_of(const ComplexMatrix& matrix) {
  Schur f{matrix, identity<Number>(matrix.rows)};
  reduce_to_hessenberg(f);
  constexpr double kEnough = std::numeric_limits<double>::epsilon() / 2;
  constexpr int kMostSteps = 300;
  const double size = norm(matrix);
  int steps = 0;
  for (std::int64_t hi = matrix.rows - 1; hi > 0;) {
    std::int64_t lo = hi;
    for (; lo > 0; --lo) {
      const double beside = std::abs(f.t(lo, lo)) + std::abs(f.t(lo - 1, lo - 1));
      if (std::abs(f.t(lo, lo - 1)) <= kEnough * (beside == 0 ? size : beside)) break;
    }
    if (lo > 0) f.t(lo, lo - 1) = 0;
    if (lo == hi) {
      --hi;
      steps = 0;
      continue;
    }
    if (++steps > kMostSteps) {
      f.converged = false;
      return f;
    }
    const bool stuck = steps % 10 == 0;
    qr_step(f, lo, hi, stuck ? f.t(hi, hi) + std::abs(f.t(hi, hi - 1)) : shift_of(f.t, hi));
  }
  return f;
}

/// The unit vectors of an upper triangular matrix, by substitution; equal values are treated as slightly different.
ComplexMatrix vectors_of(const Schur& f) {
  const std::int64_t n = f.t.rows;
  const double least = std::max(std::numeric_limits<double>::epsilon() * norm(f.t), 1e-300);
  ComplexMatrix result(n, n);
  for (std::int64_t k = 0; k < n; ++k) {
    std::vector<Number> x(static_cast<std::size_t>(n));
    x[static_cast<std::size_t>(k)] = 1;
    for (std::int64_t i = k; i-- > 0;) {
      Number sum = 0;
      for (std::int64_t j = i + 1; j <= k; ++j) sum += times(f.t(i, j), x[static_cast<std::size_t>(j)]);
      Number gap = f.t(k, k) - f.t(i, i);
      if (std::abs(gap) < least) gap = least;
      x[static_cast<std::size_t>(i)] = sum / gap;
    }
    double length = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j <= k; ++j) result(i, k) += times(f.q(i, j), x[static_cast<std::size_t>(j)]);
      length = std::hypot(length, std::abs(result(i, k)));
    }
    for (std::int64_t i = 0; i < n; ++i) result(i, k) /= length;
  }
  return result;
}

}  // namespace

Spectrum spectrum_of(const ComplexMatrix& a) {
  const Schur f = schur_of(a);
  Spectrum result;
  result.converged = f.converged;
  result.vectors = vectors_of(f);
  const ComplexMatrix left = inverse(result.vectors);
  for (std::int64_t k = 0; k < a.rows; ++k) {
    result.values.push_back(f.t(k, k));
    double condition = 0;
    for (std::int64_t j = 0; j < a.columns && left.rows == a.rows; ++j)
      condition = std::hypot(condition, std::abs(left(k, j)));
    result.conditions.push_back(
        left.rows == a.rows && condition == condition ? condition : std::numeric_limits<double>::infinity());
  }
  return result;
}

}  // namespace tdsl::ir::eval
