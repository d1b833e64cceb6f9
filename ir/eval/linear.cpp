#include "ir/eval/linear.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace tdsl::ir::eval {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Limit on Jacobi sweeps: convergence is quadratic, usually within six to ten.
constexpr int kSweeps = 60;

void swap_rows(Matrix& a, std::int64_t i, std::int64_t j) {
  if (i == j) return;
  for (std::int64_t c = 0; c < a.columns; ++c) std::swap(a(i, c), a(j, c));
}

/// The first row from `k` on with the largest magnitude in column `k`.
std::int64_t pivot_row(const Matrix& a, std::int64_t k) {
  std::int64_t best = k;
  for (std::int64_t i = k + 1; i < a.rows; ++i) {
    if (std::fabs(a(i, k)) > std::fabs(a(best, k))) best = i;
  }
  return best;
}

/// The rotation (c, s) that makes the off-diagonal element `b` of [[a, b], [b, d]] zero.
struct Rotation {
  double c = 1;
  double s = 0;
};
Rotation rotation_of(double a, double b, double d) {
  const double tau = (d - a) / (2 * b);
  const double t = (tau >= 0 ? 1.0 : -1.0) / (std::fabs(tau) + std::hypot(1.0, tau));
  const double c = 1 / std::hypot(1.0, t);
  return {c, t * c};
}

void rotate(double& x, double& y, Rotation r) {
  const double old = x;
  x = r.c * old - r.s * y;
  y = r.s * old + r.c * y;
}

void rotate_columns(Matrix& a, std::int64_t p, std::int64_t q, Rotation r) {
  for (std::int64_t i = 0; i < a.rows; ++i) rotate(a(i, p), a(i, q), r);
}

void rotate_rows(Matrix& a, std::int64_t p, std::int64_t q, Rotation r) {
  for (std::int64_t j = 0; j < a.columns; ++j) rotate(a(p, j), a(q, j), r);
}

double column_product(const Matrix& a, std::int64_t p, std::int64_t q) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) sum += a(i, p) * a(i, q);
  return sum;
}

/// Columns in the order `order`.
Matrix picked(const Matrix& a, const std::vector<std::int64_t>& order) {
  Matrix result(a.rows, a.columns);
  for (std::int64_t j = 0; j < a.columns; ++j) {
    for (std::int64_t i = 0; i < a.rows; ++i) result(i, j) = a(i, order[static_cast<std::size_t>(j)]);
  }
  return result;
}

/// Makes column j a unit vector orthogonal to the columns before it.
void complete_column(Matrix& u, std::int64_t j) {
  for (std::int64_t e = 0; e < u.rows; ++e) {
    for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) = i == e ? 1 : 0;
    for (int twice = 0; twice < 2; ++twice) {
      for (std::int64_t p = 0; p < j; ++p) {
        const double along = column_product(u, p, j);
        for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) -= along * u(i, p);
      }
    }
    const double length = std::sqrt(column_product(u, j, j));
    if (length < 0.5 / std::sqrt(static_cast<double>(u.rows))) continue;
    for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) /= length;
    return;
  }
}

}  // namespace

Matrix identity(std::int64_t n) {
  Matrix result(n, n);
  for (std::int64_t i = 0; i < n; ++i) result(i, i) = 1;
  return result;
}

Matrix transposed(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) result(j, i) = a(i, j);
  }
  return result;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = 0; k < a.columns; ++k) {
      for (std::int64_t j = 0; j < b.columns; ++j) result(i, j) += a(i, k) * b(k, j);
    }
  }
  return result;
}

Matrix leading(const Matrix& a, std::int64_t rows, std::int64_t columns) {
  Matrix result(rows, columns);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) result(i, j) = a(i, j);
  }
  return result;
}

double norm(const Matrix& a) {
  double sum = 0;
  for (const double x : a.elements) sum = std::hypot(sum, x);
  return sum == sum ? sum : kInfinity;
}

LuFactors lu(const Matrix& a) {
  const std::int64_t k_end = std::min(a.rows, a.columns);
  Matrix w = a;
  LuFactors f;
  f.p.resize(static_cast<std::size_t>(a.rows));
  std::iota(f.p.begin(), f.p.end(), std::int64_t{0});
  for (std::int64_t k = 0; k < k_end; ++k) {
    const std::int64_t chosen = pivot_row(w, k);
    if (chosen != k) {
      swap_rows(w, k, chosen);
      std::swap(f.p[static_cast<std::size_t>(k)], f.p[static_cast<std::size_t>(chosen)]);
      f.odd = !f.odd;
    }
    if (w(k, k) == 0) {
      f.singular = true;
      continue;
    }
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      w(i, k) /= w(k, k);
      for (std::int64_t j = k + 1; j < a.columns; ++j) w(i, j) -= w(i, k) * w(k, j);
    }
  }
  f.l = Matrix(a.rows, k_end);
  f.u = Matrix(k_end, a.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) {
      if (j < i && j < k_end) f.l(i, j) = w(i, j);
      if (i <= j && i < k_end) f.u(i, j) = w(i, j);
    }
    if (i < k_end) f.l(i, i) = 1;
  }
  return f;
}

// Note [Certain pivots] After k steps with pivots P, the candidates for the next pivot are elements of the Schur
// complement S = C - B A11^-1 D. An error E of A changes S by at most |E| (1 + |B A11^-1|) (1 + |A11^-1 D|) in first
// order. Gauss-Jordan elimination on the whole matrix has exactly these two products in its tableau after k steps.
bool pivots_are_certain(const Matrix& a, double error, bool exact) {
  Matrix w = a;                                             // rows < k: A11^-1 D in columns >= k; rows >= k: S
  Matrix multipliers(a.rows, std::min(a.rows, a.columns));  // rows >= k: B A11^-1 in columns < k
  const std::int64_t k_end = std::min(a.rows, a.columns);
  for (std::int64_t k = 0; k < k_end; ++k) {
    double above = 0;
    double beside = 0;
    for (std::int64_t i = 0; i < a.rows; ++i) {
      if (i < k) {
        for (std::int64_t j = k; j < a.columns; ++j) above = std::hypot(above, w(i, j));
      } else {
        for (std::int64_t j = 0; j < k; ++j) beside = std::hypot(beside, multipliers(i, j));
      }
    }
    // The first column of an exact matrix is exact.
    const bool given = k == 0 && exact;
    const double reach = given ? 0 : 4 * error * (1 + above) * (1 + beside);
    const std::int64_t chosen = pivot_row(w, k);
    for (std::int64_t i = k; i < a.rows; ++i) {
      if (i != chosen && !given && !(std::fabs(w(chosen, k)) - std::fabs(w(i, k)) > 2 * reach)) return false;
    }
    swap_rows(w, k, chosen);
    swap_rows(multipliers, k, chosen);
    const double pivot = w(k, k);
    if (!(std::fabs(pivot) > reach)) return false;
    for (std::int64_t j = k; j < a.columns; ++j) w(k, j) /= pivot;
    // B A11^-1 for one more pivot: the new column is that of S divided by the pivot, the old ones are reduced by their
    // share.
    Matrix row(1, k);
    for (std::int64_t j = 0; j < k; ++j) row(0, j) = multipliers(k, j);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      if (i == k) continue;
      const double factor = w(i, k);
      for (std::int64_t j = k; j < a.columns; ++j) w(i, j) -= factor * w(k, j);
      if (i > k) {
        for (std::int64_t j = 0; j < k; ++j) multipliers(i, j) -= factor / pivot * row(0, j);
        multipliers(i, k) = factor / pivot;
      }
    }
  }
  return true;
}

Matrix inverse(const Matrix& a) {
  Matrix w = a;
  Matrix result = identity(a.rows);
  for (std::int64_t k = 0; k < a.rows; ++k) {
    const std::int64_t chosen = pivot_row(w, k);
    swap_rows(w, k, chosen);
    swap_rows(result, k, chosen);
    const double pivot = w(k, k);
    if (pivot == 0) return {};
    for (std::int64_t j = 0; j < a.columns; ++j) {
      w(k, j) /= pivot;
      result(k, j) /= pivot;
    }
    for (std::int64_t i = 0; i < a.rows; ++i) {
      const double factor = w(i, k);
      if (i == k || factor == 0) continue;
      for (std::int64_t j = 0; j < a.columns; ++j) {
        w(i, j) -= factor * w(k, j);
        result(i, j) -= factor * result(k, j);
      }
    }
  }
  return result;
}

double inverse_norm(const Matrix& a) {
  const Matrix result = inverse(a);
  return result.rows != a.rows ? kInfinity : norm(result);
}

CholeskyFactor cholesky(const Matrix& a) {
  CholeskyFactor f;
  f.l = Matrix(a.rows, a.rows);
  for (std::int64_t j = 0; j < a.rows; ++j) {
    double diagonal = a(j, j);
    for (std::int64_t k = 0; k < j; ++k) diagonal -= f.l(j, k) * f.l(j, k);
    if (!(diagonal > 0)) {
      f.positive = false;
      return f;
    }
    f.l(j, j) = std::sqrt(diagonal);
    for (std::int64_t i = j + 1; i < a.rows; ++i) {
      double sum = a(i, j);
      for (std::int64_t k = 0; k < j; ++k) sum -= f.l(i, k) * f.l(j, k);
      f.l(i, j) = sum / f.l(j, j);
    }
  }
  return f;
}

QrFactors qr(const Matrix& a) {
  const std::int64_t k_end = std::min(a.rows, a.columns);
  Matrix r = a;
  Matrix q = identity(a.rows);
  for (std::int64_t k = 0; k < k_end; ++k) {
    double length = 0;
    for (std::int64_t i = k; i < a.rows; ++i) length = std::hypot(length, r(i, k));
    if (length == 0) continue;
    // v = x + sign(x0) |x| e0; H = I - 2 v v' / v'v
    std::vector<double> v(static_cast<std::size_t>(a.rows), 0.0);
    for (std::int64_t i = k; i < a.rows; ++i) v[static_cast<std::size_t>(i)] = r(i, k);
    v[static_cast<std::size_t>(k)] += r(k, k) >= 0 ? length : -length;
    double square = 0;
    for (const double x : v) square += x * x;
    const auto reflect = [&](Matrix& m, std::int64_t j, bool row) {
      double along = 0;
      for (std::int64_t i = k; i < a.rows; ++i) along += v[static_cast<std::size_t>(i)] * (row ? m(j, i) : m(i, j));
      for (std::int64_t i = k; i < a.rows; ++i)
        (row ? m(j, i) : m(i, j)) -= 2 * along / square * v[static_cast<std::size_t>(i)];
    };
    for (std::int64_t j = 0; j < a.columns; ++j) reflect(r, j, false);
    for (std::int64_t i = 0; i < a.rows; ++i) reflect(q, i, true);
    for (std::int64_t i = k + 1; i < a.rows; ++i) r(i, k) = 0;
  }
  QrFactors f{leading(q, a.rows, k_end), leading(r, k_end, a.columns)};
  for (std::int64_t k = 0; k < k_end; ++k) {
    if (f.r(k, k) >= 0) continue;
    for (std::int64_t j = k; j < a.columns; ++j) f.r(k, j) = -f.r(k, j);
    for (std::int64_t i = 0; i < a.rows; ++i) f.q(i, k) = -f.q(i, k);
  }
  return f;
}

Eigen symmetric_eigen(const Matrix& a) {
  const std::int64_t n = a.rows;
  Matrix w = a;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = i + 1; j < n; ++j) w(i, j) = w(j, i);
  }
  Matrix vectors = identity(n);
  bool changed = true;
  for (int sweep = 0; sweep < kSweeps && changed; ++sweep) {
    changed = false;
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        const double size = std::sqrt(std::fabs(w(p, p))) * std::sqrt(std::fabs(w(q, q)));
        const bool negligible = std::fabs(w(p, q)) <= 1e-17 * size || std::fabs(w(p, q)) < 1e-300;
        if (negligible) continue;
        changed = true;
        const Rotation r = rotation_of(w(p, p), w(p, q), w(q, q));
        rotate_columns(w, p, q, r);
        rotate_rows(w, p, q, r);
        w(p, q) = w(q, p) = 0;
        rotate_columns(vectors, p, q, r);
      }
    }
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, {}, [&](std::int64_t j) { return w(j, j); });
  Eigen result;
  for (const std::int64_t j : order) result.values.push_back(w(j, j));
  result.vectors = picked(vectors, order);
  return result;
}

SingularValues singular_values(const Matrix& a) {
  if (a.rows < a.columns) {
    SingularValues t = singular_values(transposed(a));
    std::swap(t.u, t.v);
    return t;
  }
  Matrix w = a;
  Matrix v = identity(a.columns);
  bool changed = true;
  for (int sweep = 0; sweep < kSweeps && changed; ++sweep) {
    changed = false;
    for (std::int64_t p = 0; p < a.columns; ++p) {
      for (std::int64_t q = p + 1; q < a.columns; ++q) {
        const double pp = column_product(w, p, p);
        const double qq = column_product(w, q, q);
        const double pq = column_product(w, p, q);
        if (std::fabs(pq) <= 1e-16 * std::sqrt(pp) * std::sqrt(qq) || std::fabs(pq) < 1e-300) continue;
        changed = true;
        const Rotation r = rotation_of(pp, pq, qq);
        rotate_columns(w, p, q, r);
        rotate_columns(v, p, q, r);
      }
    }
  }
  std::vector<double> lengths;
  for (std::int64_t j = 0; j < a.columns; ++j) lengths.push_back(std::sqrt(column_product(w, j, j)));
  std::vector<std::int64_t> order(static_cast<std::size_t>(a.columns));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](std::int64_t j) { return lengths[static_cast<std::size_t>(j)]; });
  SingularValues result;
  result.u = picked(w, order);
  result.v = picked(v, order);
  for (std::int64_t j = 0; j < a.columns; ++j) {
    const double s = lengths[static_cast<std::size_t>(order[static_cast<std::size_t>(j)])];
    result.s.push_back(s);
    if (s == 0) {
      complete_column(result.u, j);
      continue;
    }
    for (std::int64_t i = 0; i < a.rows; ++i) result.u(i, j) /= s;
  }
  return result;
}

}  // namespace tdsl::ir::eval
