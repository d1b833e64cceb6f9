#include "ir/eval/complex_linear.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace tdsl::ir::eval {

namespace {

constexpr double kNoNumber = std::numeric_limits<double>::infinity();
constexpr int kMostSweeps = 60;

void swap_rows(ComplexMatrix& a, std::int64_t i, std::int64_t j) {
  if (i == j) return;
  for (std::int64_t c = 0; c < a.columns; ++c) std::swap(a(i, c), a(j, c));
}

/// LAPACK's measure of a pivot.
double size_of_parts(const Number& z) { return std::fabs(z.real()) + std::fabs(z.imag()); }

std::int64_t pivot_row(const ComplexMatrix& a, std::int64_t k) {
  std::int64_t best = k;
  for (std::int64_t i = k + 1; i < a.rows; ++i) {
    if (size_of_parts(a(i, k)) > size_of_parts(a(best, k))) best = i;
  }
  return best;
}

/// Two columns p and q become c p - s f q and s p + c f q with |f| = 1.
struct Plane {
  double c = 1;
  double s = 0;
  Number f = 1;
};

/// Makes the off-diagonal element `b` of the Hermitian matrix [[a, b], [conj(b), d]] zero.
Plane plane_of(double a, const Number& b, double d) {
  const double size = std::abs(b);
  const double tau = (d - a) / (2 * size);
  const double t = (tau >= 0 ? 1.0 : -1.0) / (std::fabs(tau) + std::hypot(1.0, tau));
  const double c = 1 / std::hypot(1.0, t);
  return {c, t * c, std::conj(b) / size};
}

void turn_columns(ComplexMatrix& a, std::int64_t p, std::int64_t q, const Plane& r) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const Number x = a(i, p), y = times(r.f, a(i, q));
    a(i, p) = r.c * x - r.s * y;
    a(i, q) = r.s * x + r.c * y;
  }
}

void turn_rows(ComplexMatrix& a, std::int64_t p, std::int64_t q, const Plane& r) {
  for (std::int64_t j = 0; j < a.columns; ++j) {
    const Number x = a(p, j), y = times(std::conj(r.f), a(q, j));
    a(p, j) = r.c * x - r.s * y;
    a(q, j) = r.s * x + r.c * y;
  }
}

/// The inner product of column p, conjugated, and column q.
Number inner(const ComplexMatrix& a, std::int64_t p, std::int64_t q) {
  Number sum = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) sum += times(std::conj(a(i, p)), a(i, q));
  return sum;
}

ComplexMatrix in_order(const ComplexMatrix& a, const std::vector<std::int64_t>& order) {
  ComplexMatrix result(a.rows, a.columns);
  for (std::int64_t j = 0; j < a.columns; ++j) {
    for (std::int64_t i = 0; i < a.rows; ++i) result(i, j) = a(i, order[static_cast<std::size_t>(j)]);
  }
  return result;
}

/// Makes column j a unit vector orthogonal to the columns before it.
void complete_column(ComplexMatrix& u, std::int64_t j) {
  for (std::int64_t e = 0; e < u.rows; ++e) {
    for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) = i == e ? 1 : 0;
    for (int twice = 0; twice < 2; ++twice) {
      for (std::int64_t p = 0; p < j; ++p) {
        const Number along = inner(u, p, j);
        for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) -= times(along, u(i, p));
      }
    }
    const double length = std::sqrt(inner(u, j, j).real());
    if (length < 0.5 / std::sqrt(static_cast<double>(u.rows))) continue;
    for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) /= length;
    return;
  }
}

}  // namespace

ComplexMatrix complex_identity(std::int64_t n) {
  ComplexMatrix result(n, n);
  for (std::int64_t i = 0; i < n; ++i) result(i, i) = 1;
  return result;
}

ComplexMatrix adjoint(const ComplexMatrix& a) {
  ComplexMatrix result(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) result(j, i) = std::conj(a(i, j));
  }
  return result;
}

double norm(const ComplexMatrix& a) {
  double sum = 0;
  for (const Number& x : a.elements) sum = std::hypot(sum, x.real(), x.imag());
  return sum == sum ? sum : kNoNumber;
}

ComplexLu lu(const ComplexMatrix& a) {
  const std::int64_t k_end = std::min(a.rows, a.columns);
  ComplexMatrix w = a;
  ComplexLu f;
  f.p.resize(static_cast<std::size_t>(a.rows));
  std::iota(f.p.begin(), f.p.end(), std::int64_t{0});
  for (std::int64_t k = 0; k < k_end; ++k) {
    const std::int64_t chosen = pivot_row(w, k);
    if (chosen != k) {
      swap_rows(w, k, chosen);
      std::swap(f.p[static_cast<std::size_t>(k)], f.p[static_cast<std::size_t>(chosen)]);
      f.odd = !f.odd;
    }
    if (w(k, k) == 0.0) {
      f.singular = true;
      continue;
    }
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      w(i, k) /= w(k, k);
      for (std::int64_t j = k + 1; j < a.columns; ++j) w(i, j) -= times(w(i, k), w(k, j));
    }
  }
  f.l = ComplexMatrix(a.rows, k_end);
  f.u = ComplexMatrix(k_end, a.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) {
      if (j < i && j < k_end) f.l(i, j) = w(i, j);
      if (i <= j && i < k_end) f.u(i, j) = w(i, j);
    }
    if (i < k_end) f.l(i, i) = 1;
  }
  return f;
}

// Note [Certain pivots] in linear.cpp; a change of a number changes the sum of its parts by up to sqrt(2) times as
// much.
bool pivots_are_certain(const ComplexMatrix& a, double error, bool exact) {
  ComplexMatrix w = a;
  ComplexMatrix multipliers(a.rows, std::min(a.rows, a.columns));
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
    const bool given = k == 0 && exact;
    const double reach = given ? 0 : 6 * error * (1 + above) * (1 + beside);
    const std::int64_t chosen = pivot_row(w, k);
    for (std::int64_t i = k; i < a.rows; ++i) {
      if (i != chosen && !given && !(size_of_parts(w(chosen, k)) - size_of_parts(w(i, k)) > 2 * reach)) return false;
    }
    swap_rows(w, k, chosen);
    swap_rows(multipliers, k, chosen);
    const Number pivot = w(k, k);
    if (!(std::abs(pivot) > reach)) return false;
    for (std::int64_t j = k; j < a.columns; ++j) w(k, j) /= pivot;
    ComplexMatrix row(1, k);
    for (std::int64_t j = 0; j < k; ++j) row(0, j) = multipliers(k, j);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      if (i == k) continue;
      const Number factor = w(i, k);
      for (std::int64_t j = k; j < a.columns; ++j) w(i, j) -= times(factor, w(k, j));
      if (i > k) {
        for (std::int64_t j = 0; j < k; ++j) multipliers(i, j) -= times(factor / pivot, row(0, j));
        multipliers(i, k) = factor / pivot;
      }
    }
  }
  return true;
}

ComplexMatrix inverse(const ComplexMatrix& a) {
  ComplexMatrix w = a;
  ComplexMatrix result = complex_identity(a.rows);
  for (std::int64_t k = 0; k < a.rows; ++k) {
    const std::int64_t chosen = pivot_row(w, k);
    swap_rows(w, k, chosen);
    swap_rows(result, k, chosen);
    const Number pivot = w(k, k);
    if (pivot == 0.0) return {};
    for (std::int64_t j = 0; j < a.columns; ++j) {
      w(k, j) /= pivot;
      result(k, j) /= pivot;
    }
    for (std::int64_t i = 0; i < a.rows; ++i) {
      const Number factor = w(i, k);
      if (i == k || factor == 0.0) continue;
      for (std::int64_t j = 0; j < a.columns; ++j) {
        w(i, j) -= times(factor, w(k, j));
        result(i, j) -= times(factor, result(k, j));
      }
    }
  }
  return result;
}

double inverse_norm(const ComplexMatrix& a) {
  const ComplexMatrix result = inverse(a);
  return result.rows != a.rows ? kNoNumber : norm(result);
}

HermitianEigen hermitian_eigen(const ComplexMatrix& a) {
  const std::int64_t n = a.rows;
  ComplexMatrix w = a;
  ComplexMatrix vectors = complex_identity(n);
  bool changed = true;
  for (int sweep = 0; sweep < kMostSweeps && changed; ++sweep) {
    changed = false;
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        const double size = std::sqrt(std::abs(w(p, p))) * std::sqrt(std::abs(w(q, q)));
        const double off = std::abs(w(p, q));
        if (off <= 1e-17 * size || off < 1e-300) continue;
        changed = true;
        const Plane r = plane_of(w(p, p).real(), w(p, q), w(q, q).real());
        turn_columns(w, p, q, r);
        turn_rows(w, p, q, r);
        w(p, q) = w(q, p) = 0;
        turn_columns(vectors, p, q, r);
      }
    }
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, {}, [&](std::int64_t j) { return w(j, j).real(); });
  HermitianEigen result;
  for (const std::int64_t j : order) result.values.push_back(w(j, j).real());
  result.vectors = in_order(vectors, order);
  return result;
}

ComplexSingular singular_values(const ComplexMatrix& a) {
  if (a.rows < a.columns) {
    ComplexSingular t = singular_values(adjoint(a));
    std::swap(t.u, t.v);
    return t;
  }
  ComplexMatrix w = a;
  ComplexMatrix v = complex_identity(a.columns);
  bool changed = true;
  for (int sweep = 0; sweep < kMostSweeps && changed; ++sweep) {
    changed = false;
    for (std::int64_t p = 0; p < a.columns; ++p) {
      for (std::int64_t q = p + 1; q < a.columns; ++q) {
        const double pp = inner(w, p, p).real();
        const double qq = inner(w, q, q).real();
        const Number pq = inner(w, p, q);
        if (std::abs(pq) <= 1e-16 * std::sqrt(pp) * std::sqrt(qq) || std::abs(pq) < 1e-300) continue;
        changed = true;
        const Plane r = plane_of(pp, pq, qq);
        turn_columns(w, p, q, r);
        turn_columns(v, p, q, r);
      }
    }
  }
  std::vector<double> lengths;
  for (std::int64_t j = 0; j < a.columns; ++j) lengths.push_back(std::sqrt(inner(w, j, j).real()));
  std::vector<std::int64_t> order(static_cast<std::size_t>(a.columns));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](std::int64_t j) { return lengths[static_cast<std::size_t>(j)]; });
  ComplexSingular result;
  result.u = in_order(w, order);
  result.v = in_order(v, order);
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
