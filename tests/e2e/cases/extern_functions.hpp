#pragma once

#include <cmath>
#include <complex>
#include <cstdint>

#include <tdsl/tile.h>

inline double gelu(double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }

inline double pick(double x, float y, std::int64_t n) { return n > 2 ? x : static_cast<double>(y); }

inline bool odd(std::int64_t n) { return n % 2 != 0; }

inline std::complex<double> moebius(std::complex<double> z, const std::complex<double>& w) {
  return (z - w) / (1.0 + std::abs(z) + std::exp(w * z));
}

inline void turned(tdsl::Tile<const std::complex<float>, 2> A, double angle, tdsl::Tile<std::complex<float>, 2> B,
                   std::complex<float>& first) {
  first = {0.5F, -1.0F};
  const std::complex<float> by(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)));
  for (std::int64_t i = 0; i < A.extent(0); ++i) {
    for (std::int64_t j = 0; j < A.extent(1); ++j) B(i, j) = by * std::conj(A(i, j));
  }
}

/// The lower factor of a symmetric matrix; what lies above the diagonal is not written.
inline void factor(tdsl::Tile<const double, 2> A, tdsl::Tile<double, 2> L) {
  const std::int64_t n = A.extent(0);
  for (std::int64_t j = 0; j < n; ++j) {
    double s = A(j, j);
    for (std::int64_t k = 0; k < j; ++k) s -= L(j, k) * L(j, k);
    L(j, j) = std::sqrt(s);
    for (std::int64_t i = j + 1; i < n; ++i) {
      double t = A(i, j);
      for (std::int64_t k = 0; k < j; ++k) t -= L(i, k) * L(j, k);
      L(i, j) = t / L(j, j);
    }
  }
}

/// Sums of columns, and how many elements are above the limit.
inline void columns(tdsl::Tile<const double, 2> A, double limit, tdsl::Tile<double, 1> sums, std::int64_t& above) {
  above = 0;
  for (std::int64_t j = 0; j < sums.extent(0); ++j) {
    double s = 0.0;
    for (std::int64_t i = 0; i < A.extent(0); ++i) {
      s += A(i, j);
      if (A(i, j) > limit) above += 1;
    }
    sums(j) = s;
  }
}

// The rest must not reach the program: macros of its names and of its vocabulary, pragmas, and names that emitted code
// uses.
using namespace std;
namespace rt {
constexpr int kScalars = 3;
}
using Index = float;
template <class... T>
void place(T...);
inline double program(double x) { return x; }
struct Tensor {};

#define lo hi
#define exp log
#define max min
#define erf exp
#define i j
#define X y
#define for while
#define main start
#define session sessions
#define x (-x)
#pragma GCC optimize("Ofast")
#pragma GCC poison OpBuilder
