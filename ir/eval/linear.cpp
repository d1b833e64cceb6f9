#include "ir/eval/linear.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace tdsl::ir::eval {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Limit on Jacobi sweeps: convergence is quadratic, usually within six to ten.
constexpr int kSweeps = 60;

template <class T>
void swap_rows(MatrixOf<T>& a, std::int64_t i, std::int64_t j) {
  if (i == j) return;
  for (std::int64_t c = 0; c < a.columns; ++c) std::swap(a(i, c), a(j, c));
}

/// LAPACK's measure of a pivot.
double pivot_size(double x) { return std::fabs(x); }
double pivot_size(const Number& z) { return std::fabs(z.real()) + std::fabs(z.imag()); }
/// An error of 1 changes that measure by at most sqrt(2) for numbers; four of them are bounded here.
template <class T>
constexpr double kPivotErrors = std::is_same_v<T, double> ? 4 : 6;

/// The first row from `k` on with the largest pivot in column `k`.
template <class T>
std::int64_t pivot_row(const MatrixOf<T>& a, std::int64_t k) {
  std::int64_t best = k;
  for (std::int64_t i = k + 1; i < a.rows; ++i) {
    if (pivot_size(a(i, k)) > pivot_size(a(best, k))) best = i;
  }
  return best;
}

/// Two columns p and q become c p - s f q and s p + c f q with |f| = 1.
template <class T>
struct Rotation {
  double c = 1;
  double s = 0;
  T f = 1;
};

/// Makes the off-diagonal element `b` of [[a, b], [conj(b), d]] zero.
template <class T>
Rotation<T> rotation_of(double a, const T& b, double d) {
  const double size = std::abs(b);
  const double tau = (d - a) / (2 * size);
  const double t = (tau >= 0 ? 1.0 : -1.0) / (std::fabs(tau) + std::hypot(1.0, tau));
  const double c = 1 / std::hypot(1.0, t);
  return {c, t * c, conjugate(b) / size};
}

template <class T>
void rotate_columns(MatrixOf<T>& a, std::int64_t p, std::int64_t q, const Rotation<T>& r) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const T x = a(i, p), y = times(r.f, a(i, q));
    a(i, p) = r.c * x - r.s * y;
    a(i, q) = r.s * x + r.c * y;
  }
}

template <class T>
void rotate_rows(MatrixOf<T>& a, std::int64_t p, std::int64_t q, const Rotation<T>& r) {
  for (std::int64_t j = 0; j < a.columns; ++j) {
    const T x = a(p, j), y = times(conjugate(r.f), a(q, j));
    a(p, j) = r.c * x - r.s * y;
    a(q, j) = r.s * x + r.c * y;
  }
}

/// The inner product of column p, conjugated, and column q.
template <class T>
T inner(const MatrixOf<T>& a, std::int64_t p, std::int64_t q) {
  T sum = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) sum += times(conjugate(a(i, p)), a(i, q));
  return sum;
}

/// Columns in the order `order`.
template <class T>
MatrixOf<T> picked(const MatrixOf<T>& a, const std::vector<std::int64_t>& order) {
  MatrixOf<T> result(a.rows, a.columns);
  for (std::int64_t j = 0; j < a.columns; ++j) {
    for (std::int64_t i = 0; i < a.rows; ++i) result(i, j) = a(i, order[static_cast<std::size_t>(j)]);
  }
  return result;
}

/// Makes column j a unit vector orthogonal to the columns before it.
template <class T>
void complete_column(MatrixOf<T>& u, std::int64_t j) {
  for (std::int64_t e = 0; e < u.rows; ++e) {
    for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) = i == e ? 1 : 0;
    for (int twice = 0; twice < 2; ++twice) {
      for (std::int64_t p = 0; p < j; ++p) {
        const T along = inner(u, p, j);
        for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) -= times(along, u(i, p));
      }
    }
    const double length = std::sqrt(real_part(inner(u, j, j)));
    if (length < 0.5 / std::sqrt(static_cast<double>(u.rows))) continue;
    for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) /= length;
    return;
  }
}

std::vector<std::int64_t> numbers_below(std::int64_t n) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(n));
  std::iota(result.begin(), result.end(), std::int64_t{0});
  return result;
}

}  // namespace

template <class T>
MatrixOf<T> identity(std::int64_t n) {
  MatrixOf<T> result(n, n);
  for (std::int64_t i = 0; i < n; ++i) result(i, i) = 1;
  return result;
}

template <class T>
MatrixOf<T> adjoint(const MatrixOf<T>& a) {
  MatrixOf<T> result(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) result(j, i) = conjugate(a(i, j));
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

template <class T>
MatrixOf<T> leading(const MatrixOf<T>& a, std::int64_t rows, std::int64_t columns) {
  MatrixOf<T> result(rows, columns);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) result(i, j) = a(i, j);
  }
  return result;
}

template <class T>
double norm(const MatrixOf<T>& a) {
  double sum = 0;
  for (const T& x : a.elements) sum = std::hypot(sum, std::abs(x));
  return sum == sum ? sum : kInfinity;
}

template <class T>
LuFactors<T> lu(const MatrixOf<T>& a) {
  const std::int64_t k_end = std::min(a.rows, a.columns);
  MatrixOf<T> w = a;
  LuFactors<T> f;
  f.p = numbers_below(a.rows);
  for (std::int64_t k = 0; k < k_end; ++k) {
    const std::int64_t chosen = pivot_row(w, k);
    if (chosen != k) {
      swap_rows(w, k, chosen);
      std::swap(f.p[static_cast<std::size_t>(k)], f.p[static_cast<std::size_t>(chosen)]);
      f.odd = !f.odd;
    }
    if (w(k, k) == T(0)) {
      f.singular = true;
      continue;
    }
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      w(i, k) /= w(k, k);
      for (std::int64_t j = k + 1; j < a.columns; ++j) w(i, j) -= times(w(i, k), w(k, j));
    }
  }
  f.l = MatrixOf<T>(a.rows, k_end);
  f.u = MatrixOf<T>(k_end, a.columns);
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
template <class T>
bool pivots_are_certain(const MatrixOf<T>& a, double error, bool exact) {
  MatrixOf<T> w = a;                                             // rows < k: A11^-1 D in columns >= k; rows >= k: S
  MatrixOf<T> multipliers(a.rows, std::min(a.rows, a.columns));  // rows >= k: B A11^-1 in columns < k
  const std::int64_t k_end = std::min(a.rows, a.columns);
  for (std::int64_t k = 0; k < k_end; ++k) {
    double above = 0;
    double beside = 0;
    for (std::int64_t i = 0; i < a.rows; ++i) {
      if (i < k) {
        for (std::int64_t j = k; j < a.columns; ++j) above = std::hypot(above, std::abs(w(i, j)));
      } else {
        for (std::int64_t j = 0; j < k; ++j) beside = std::hypot(beside, std::abs(multipliers(i, j)));
      }
    }
    // The first column of an exact matrix is exact.
    const bool given = k == 0 && exact;
    const double reach = given ? 0 : kPivotErrors<T> * error * (1 + above) * (1 + beside);
    const std::int64_t chosen = pivot_row(w, k);
    for (std::int64_t i = k; i < a.rows; ++i) {
      if (i != chosen && !given && !(pivot_size(w(chosen, k)) - pivot_size(w(i, k)) > 2 * reach)) return false;
    }
    swap_rows(w, k, chosen);
    swap_rows(multipliers, k, chosen);
    const T pivot = w(k, k);
    if (!(std::abs(pivot) > reach)) return false;
    for (std::int64_t j = k; j < a.columns; ++j) w(k, j) /= pivot;
    // B A11^-1 for one more pivot: the new column is that of S divided by the pivot, the old ones are reduced by their
    // share.
    MatrixOf<T> row(1, k);
    for (std::int64_t j = 0; j < k; ++j) row(0, j) = multipliers(k, j);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      if (i == k) continue;
      const T factor = w(i, k);
      for (std::int64_t j = k; j < a.columns; ++j) w(i, j) -= times(factor, w(k, j));
      if (i > k) {
        for (std::int64_t j = 0; j < k; ++j) multipliers(i, j) -= times(factor / pivot, row(0, j));
        multipliers(i, k) = factor / pivot;
      }
    }
  }
  return true;
}

template <class T>
MatrixOf<T> inverse(const MatrixOf<T>& a) {
  MatrixOf<T> w = a;
  MatrixOf<T> result = identity<T>(a.rows);
  for (std::int64_t k = 0; k < a.rows; ++k) {
    const std::int64_t chosen = pivot_row(w, k);
    swap_rows(w, k, chosen);
    swap_rows(result, k, chosen);
    const T pivot = w(k, k);
    if (pivot == T(0)) return {};
    for (std::int64_t j = 0; j < a.columns; ++j) {
      w(k, j) /= pivot;
      result(k, j) /= pivot;
    }
    for (std::int64_t i = 0; i < a.rows; ++i) {
      const T factor = w(i, k);
      if (i == k || factor == T(0)) continue;
      for (std::int64_t j = 0; j < a.columns; ++j) {
        w(i, j) -= times(factor, w(k, j));
        result(i, j) -= times(factor, result(k, j));
      }
    }
  }
  return result;
}

template <class T>
double inverse_norm(const MatrixOf<T>& a) {
  const MatrixOf<T> result = inverse(a);
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
  Matrix q = identity<double>(a.rows);
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

template <class T>
Eigen<T> hermitian_eigen(const MatrixOf<T>& a) {
  const std::int64_t n = a.rows;
  MatrixOf<T> w = a;
  MatrixOf<T> vectors = identity<T>(n);
  bool changed = true;
  for (int sweep = 0; sweep < kSweeps && changed; ++sweep) {
    changed = false;
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        const double size = std::sqrt(std::abs(w(p, p))) * std::sqrt(std::abs(w(q, q)));
        const double off = std::abs(w(p, q));
        if (off <= 1e-17 * size || off < 1e-300) continue;
        changed = true;
        const Rotation<T> r = rotation_of(real_part(w(p, p)), w(p, q), real_part(w(q, q)));
        rotate_columns(w, p, q, r);
        rotate_rows(w, p, q, r);
        w(p, q) = w(q, p) = 0;
        rotate_columns(vectors, p, q, r);
      }
    }
  }
  std::vector<std::int64_t> order = numbers_below(n);
  std::ranges::stable_sort(order, {}, [&](std::int64_t j) { return real_part(w(j, j)); });
  Eigen<T> result;
  for (const std::int64_t j : order) result.values.push_back(real_part(w(j, j)));
  result.vectors = picked(vectors, order);
  return result;
}

template <class T>
SingularValues<T> singular_values(const MatrixOf<T>& a) {
  if (a.rows < a.columns) {
    SingularValues<T> t = singular_values(adjoint(a));
    std::swap(t.u, t.v);
    return t;
  }
  MatrixOf<T> w = a;
  MatrixOf<T> v = identity<T>(a.columns);
  bool changed = true;
  for (int sweep = 0; sweep < kSweeps && changed; ++sweep) {
    changed = false;
    for (std::int64_t p = 0; p < a.columns; ++p) {
      for (std::int64_t q = p + 1; q < a.columns; ++q) {
        const double pp = real_part(inner(w, p, p));
        const double qq = real_part(inner(w, q, q));
        const T pq = inner(w, p, q);
        if (std::abs(pq) <= 1e-16 * std::sqrt(pp) * std::sqrt(qq) || std::abs(pq) < 1e-300) continue;
        changed = true;
        const Rotation<T> r = rotation_of(pp, pq, qq);
        rotate_columns(w, p, q, r);
        rotate_columns(v, p, q, r);
      }
    }
  }
  std::vector<double> lengths;
  for (std::int64_t j = 0; j < a.columns; ++j) lengths.push_back(std::sqrt(real_part(inner(w, j, j))));
  std::vector<std::int64_t> order = numbers_below(a.columns);
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](std::int64_t j) { return lengths[static_cast<std::size_t>(j)]; });
  SingularValues<T> result;
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

#define TDSL_LINEAR_ALGEBRA_OF(T)                                               \
  template MatrixOf<T> identity<T>(std::int64_t);                               \
  template MatrixOf<T> adjoint(const MatrixOf<T>&);                             \
  template MatrixOf<T> leading(const MatrixOf<T>&, std::int64_t, std::int64_t); \
  template double norm(const MatrixOf<T>&);                                     \
  template LuFactors<T> lu(const MatrixOf<T>&);                                 \
  template bool pivots_are_certain(const MatrixOf<T>&, double, bool);           \
  template MatrixOf<T> inverse(const MatrixOf<T>&);                             \
  template double inverse_norm(const MatrixOf<T>&);                             \
  template Eigen<T> hermitian_eigen(const MatrixOf<T>&);                        \
  template SingularValues<T> singular_values(const MatrixOf<T>&);
TDSL_LINEAR_ALGEBRA_OF(double)
TDSL_LINEAR_ALGEBRA_OF(Number)
#undef TDSL_LINEAR_ALGEBRA_OF

}  // namespace tdsl::ir::eval
