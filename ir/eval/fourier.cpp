#include "ir/eval/fourier.h"

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <vector>

#include "ir/eval/elements.h"
#include "ir/eval/lines.h"

namespace tdsl::ir::eval {

namespace {

using Extended = std::complex<long double>;
using ExtendedLine = std::vector<Extended>;

/// exp(-2 pi i k / n), or its conjugate.
Extended root_of_unity(std::int64_t k, std::int64_t n, bool inverse) {
  const long double angle =
      2 * std::numbers::pi_v<long double> * static_cast<long double>(k % n) / static_cast<long double>(n);
  return {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
}

ExtendedLine transformed(const ExtendedLine& x, bool inverse);

/// With c[k] = exp(-i pi k^2 / n): X[k] = c[k] sum(x[j] c[j] conj(c[k - j])), a circular convolution of 2^m elements.
ExtendedLine convolved(const ExtendedLine& x, bool inverse) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::size_t m = 1;
  while (m < 2 * x.size()) m *= 2;
  ExtendedLine left(m), right(m), chirp;
  for (std::int64_t k = 0; k < n; ++k) {
    const auto at = static_cast<std::size_t>(k);
    chirp.push_back(root_of_unity(k * k % (2 * n), 2 * n, inverse));
    left[at] = x[at] * chirp[at];
    right[at] = right[(m - at) % m] = std::conj(chirp[at]);
  }
  left = transformed(left, false);
  right = transformed(right, false);
  for (std::size_t k = 0; k < m; ++k) left[k] *= right[k];
  left = transformed(left, true);
  for (std::size_t k = 0; k < chirp.size(); ++k) chirp[k] *= left[k] / static_cast<long double>(m);
  return chirp;
}

/// Without a factor. `turns` are those of a multiple of the length, `turns.size() / x.size()` times as many.
ExtendedLine transformed(const ExtendedLine& x, const ExtendedLine& turns, bool inverse) {
  constexpr std::size_t kLargest = 64;
  const std::size_t n = x.size();
  if (n == 1) return x;
  std::size_t p = 2;
  while (p * p <= n && n % p != 0) ++p;
  if (n % p != 0) p = n;
  if (p > kLargest) return convolved(x, inverse);
  const std::size_t q = n / p, step = turns.size() / n;
  ExtendedLine result(n), part(q);
  for (std::size_t j = 0; j < p; ++j) {
    for (std::size_t k = 0; k < q; ++k) part[k] = x[k * p + j];
    const ExtendedLine of_part = transformed(part, turns, inverse);
    for (std::size_t k = 0; k < n; ++k) result[k] += of_part[k % q] * turns[j * k % n * step];
  }
  return result;
}

ExtendedLine transformed(const ExtendedLine& x, bool inverse) {
  const auto n = static_cast<std::int64_t>(x.size());
  ExtendedLine turns;
  for (std::int64_t k = 0; k < n; ++k) turns.push_back(root_of_unity(k, n, inverse));
  return transformed(x, turns, inverse);
}

/// One transform: its line, and what its elements have in common.
struct GivenLine {
  ExtendedLine line;
  long double norm = 0;
  double bounds = 0;  ///< the sum of the elements' bounds
  bool finite = true;

  void add(Real x) {
    line.emplace_back(x.value, x.imag);
    norm = std::hypot(norm, std::abs(line.back()));
    bounds += x.bound;
    finite = finite && is_finite(x);
  }
};

double fourier_factor(Routine::Scale scale, double n) {
  return scale == Routine::Scale::kNone ? 1 : scale == Routine::Scale::kRoot ? 1 / std::sqrt(n) : 1 / n;
}

/// The n elements whose first half is given; imaginary parts of its real elements do not count.
GivenLine completed(const Array& a, const Line& line, std::int64_t n) {
  GivenLine given;
  for (std::int64_t k = 0; k < n; ++k) {
    const bool mirrored = k >= line.length;
    Real x = real_element(a, line.at(mirrored ? n - k : k));
    if (k == 0 || 2 * k == n) x.imag = 0;
    if (mirrored) x.imag = -x.imag;
    given.add(x);
  }
  return given;
}

void put_element(Array& result, std::size_t at, Extended value, double bound) {
  const bool narrow = is_narrow(result.type);
  const auto rounded = [&](long double x) {
    return narrow ? static_cast<double>(static_cast<float>(x)) : static_cast<double>(x);
  };
  const Real made{rounded(value.real()), bound, is_complex(result.type) ? rounded(value.imag()) : 0};
  set_element(result, at, {{made.value, std::isfinite(magnitude(made)) ? bound : kOpen, made.imag}, {}});
}

}  // namespace

void evaluate_fourier(const Routine& routine, const Array& a, Array& result) {
  const auto axis = static_cast<std::size_t>(routine.axis);
  const bool to_reals = routine.kind == Routine::Kind::kIrfft;
  const bool inverse = to_reals || routine.kind == Routine::Kind::kIfft;
  const std::vector<Line> from = lines_of(a.shape, axis);
  const std::vector<Line> to = lines_of(result.shape, axis);
  const double epsilon = is_narrow(result.type) ? kEpsilon<float> : kEpsilon<double>;
  for (std::size_t l = 0; l < to.size(); ++l) {
    GivenLine given;
    if (to_reals) {
      given = completed(a, from[l], to[l].length);
    } else {
      for (std::int64_t k = 0; k < from[l].length; ++k) given.add(real_element(a, from[l].at(k)));
    }
    const auto n = static_cast<double>(given.line.size());
    const double factor = fourier_factor(routine.scale, n);
    const double own = 32 * epsilon * (1 + std::log2(n)) * std::sqrt(n) * static_cast<double>(given.norm);
    if (given.finite) {
      const ExtendedLine values = transformed(given.line, inverse);
      for (std::int64_t k = 0; k < to[l].length; ++k)
        put_element(result, to[l].at(k), values[static_cast<std::size_t>(k)] * static_cast<long double>(factor),
                    detail::known(factor * (own + given.bounds)));
    } else {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      for (std::int64_t k = 0; k < to[l].length; ++k)
        set_element(result, to[l].at(k), {{nan, to_reals ? kOpen : given.bounds > 0 ? kOpen : 0, nan}, {}});
    }
  }
}

}  // namespace tdsl::ir::eval
