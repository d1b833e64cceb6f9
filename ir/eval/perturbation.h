#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ir/eval/bounds.h"

// First-order bounds shared by the factorisations of real and complex matrices: see the note in factorise.cpp.
namespace tdsl::ir::eval {

/// Backward errors are at most this many rounding units times the larger dimension, relative to |A|.
inline constexpr double kUnits = 32;

/// `bound` amplified by q = e |A^-1|; open if first-order theory does not hold.
inline double amplified(double bound, double q) { return q < 0.25 ? bound / (1 - 2 * q) : kOpen; }

/// Bound on the rotation of a unit vector whose value is `gap` away from all others.
inline double turn(double e, double gap) { return gap > 8 * e ? 4 * e / (gap - 2 * e) : kOpen; }

/// The distance between values[j] and the nearest other value.
inline double gap_of(const std::vector<double>& values, std::int64_t j) {
  const auto at = static_cast<std::size_t>(j);
  double gap = kOpen;
  if (at > 0) gap = std::min(gap, std::fabs(values[at] - values[at - 1]));
  if (at + 1 < values.size()) gap = std::min(gap, std::fabs(values[at] - values[at + 1]));
  return gap;
}

}  // namespace tdsl::ir::eval
