#pragma once

#include <cmath>
#include <numbers>
#include <utility>

#include "runtime/plan/space/index.h"

namespace tdsl::rt::fourier {

struct Root {
  double re = 1;
  double im = 0;
};

/// exp(-2 pi i m / n), both parts within about half a unit of the last place: the angle is reduced to an eighth of a
/// turn in integers. For 0 <= m and n < 2^60.
inline Root unit_root(plan::Index m, plan::Index n) {
  plan::Index a = m % n;
  const bool upper = 2 * a > n;
  if (upper) a = n - a;
  a *= 4;  // a / (4 n) of a turn, at most half a turn
  const bool left = a > n;
  if (left) a = 2 * n - a;
  const bool steep = 2 * a > n;
  if (steep) a = n - a;
  const long double angle =
      std::numbers::pi_v<long double> / 2 * static_cast<long double>(a) / static_cast<long double>(n);
  const auto high = static_cast<double>(angle);
  const auto low = static_cast<double>(angle - static_cast<long double>(high));
  double sine = std::sin(high);
  double cosine = std::cos(high);
  const double exact_sine = sine + cosine * low;
  cosine -= sine * low;
  sine = exact_sine;
  if (steep) std::swap(sine, cosine);
  return {left ? -cosine : cosine, upper ? sine : -sine};
}

}  // namespace tdsl::rt::fourier
