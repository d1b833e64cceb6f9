#pragma once

#include <cmath>

#include <tdsl/tile.h>

inline double gelu(double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }

/// L U = A without pivoting, diag(L) = 1.
inline void lu_block(tdsl::Tile<const double, 2> A, tdsl::Tile<double, 2> L, tdsl::Tile<double, 2> U) {
  const std::int64_t n = A.extent(0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double s = A(i, j);
      for (std::int64_t k = 0; k < i && k < j; ++k) s -= L(i, k) * U(k, j);
      if (i <= j) {
        U(i, j) = s;
      } else {
        L(i, j) = s / U(j, j);
      }
    }
    L(i, i) = 1.0;
  }
}
