#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/kernels/scalar_math.h"
#include "runtime/types.h"

// Floating-point operations with running error bounds. `bound` limits the distance between `value` and the result of
// any other legal evaluation: another summation order, fused multiply-adds, vector versions of library functions. It
// grows by the operands' bounds (through end points or Lipschitz constants) and by the operation's own rounding unless
// that is exact. Infinity: the value is open.
namespace tdsl::ir::eval {

inline constexpr double kOpen = std::numeric_limits<double>::infinity();

/// A float of either width (f32 values are held exactly) and its bound; a complex number with the real part `value`,
/// for which `bound` is the radius of a disc (complex_bounds.h).
struct Real {
  double value = 0;
  double bound = 0;
  double imag = 0;
};
/// An integer or bool; `bound` is 0 or kOpen.
struct Whole {
  std::int64_t value = 0;
  double bound = 0;
};

/// Assumed difference in ulps between scalar and vector versions of library functions: both are accurate to 4 ulp,
/// rounded up.
inline constexpr double kLibraryUlps = 8;
/// Assumed difference for subnormal results, in units of the smallest positive number.
inline constexpr double kLibraryDenormals = 8;
/// Vector versions may overflow early, within this fraction of the largest number (vector_math.h).
inline constexpr double kEarlyOverflow = 2e-6;
inline constexpr double kPowerUlps = 16;

template <class T>
inline constexpr double kEpsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

namespace detail {

/// nan, from inf - inf or 0 * inf on bounds, means unknown.
inline double known(double bound) { return bound == bound ? bound : kOpen; }

/// |x| * bound, where an exact operand contributes nothing even if the other is infinite.
inline double scaled(double x, double bound) { return bound == 0 ? 0 : std::fabs(x) * bound; }

/// The rounding error of a finite result. A result that overflowed may be finite in another order.
inline double rounding(double result, double ulps_times_epsilon, bool finite_operands) {
  if (std::isfinite(result)) return std::fabs(result) * ulps_times_epsilon;
  return finite_operands && std::isinf(result) ? kOpen : 0;
}

/// The rounding error of a library function.
template <class T>
double library_rounding(double result, double operand) {
  const double own = rounding(result, kLibraryUlps * kEpsilon<T>, std::isfinite(operand));
  if (result == 0 || !std::isfinite(operand)) return own;
  if (std::fabs(result) > (1 - kEarlyOverflow) * static_cast<double>(std::numeric_limits<T>::max())) return kOpen;
  return own + kLibraryDenormals * static_cast<double>(std::numeric_limits<T>::denorm_min());
}

inline bool finite(Real a, Real b) { return std::isfinite(a.value) && std::isfinite(b.value); }

/// The bound of a monotone function, from its values at both ends of the operand's interval.
template <class F>
double at_ends(Real a, double result, const F& f) {
  if (a.bound == 0) return 0;
  if (std::isinf(a.bound)) return kOpen;
  const double low = std::fabs(f(a.value - a.bound) - result);
  const double high = std::fabs(f(a.value + a.bound) - result);
  return known(std::max(known(low), known(high)));
}

template <class T>
T as(double x) {
  return static_cast<T>(x);
}

}  // namespace detail

inline double magnitude(Real a) { return a.imag == 0 ? std::fabs(a.value) : std::hypot(a.value, a.imag); }
inline bool is_finite(Real a) { return std::isfinite(a.value) && std::isfinite(a.imag); }

/// True if two elements of type `type` may differ by `bound`; nan equals nan. Complex numbers that are not finite are
/// equal: which part is inf and which nan is open.
inline bool agrees(rt::ElementType type, Real got, Real want, double bound) {
  if (rt::is_complex(type)) {
    if (!is_finite(got) || !is_finite(want)) return is_finite(got) == is_finite(want) || std::isinf(bound);
    return std::hypot(got.value - want.value, got.imag - want.imag) <= bound || std::isinf(bound);
  }
  if (std::isnan(got.value) || std::isnan(want.value)) {
    return (std::isnan(got.value) && std::isnan(want.value)) || std::isinf(bound);
  }
  return got.value == want.value || std::abs(got.value - want.value) <= bound || std::isinf(bound);
}

inline constexpr int kZeroGrain = 4096;
/// The largest g such that a finite number is a multiple of 2^g; kZeroGrain for 0.
inline int grain_of(double value) {
  if (value == 0) return kZeroGrain;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int exponent = static_cast<int>((bits >> 52U) & 0x7ffU);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52U) - 1);
  if (exponent == 0) return -1074 + std::countr_zero(fraction);
  return exponent - 1075 + std::countr_zero(fraction | (std::uint64_t{1} << 52U));
}
/// The same of both parts.
inline int grain_of(Real a) { return std::min(grain_of(a.value), grain_of(a.imag)); }

template <class T>
Real add(Real a, Real b) {
  const double sum = static_cast<double>(detail::as<T>(a.value) + detail::as<T>(b.value));
  // Knuth's two-sum tests whether the addition was exact; for f32 the f64 sum does.
  bool exact = false;
  if constexpr (sizeof(T) == 8) {
    const double t = sum - a.value;
    exact = (a.value - (sum - t)) + (b.value - t) == 0;
  } else {
    exact = a.value + b.value == sum;
  }
  const double own = exact ? 0 : detail::rounding(sum, kEpsilon<T>, detail::finite(a, b));
  return {sum, detail::known(a.bound + b.bound + own)};
}

inline Real negate(Real a) { return {-a.value, a.bound}; }

template <class T>
Real subtract(Real a, Real b) {
  return add<T>(a, negate(b));
}

template <class T>
Real multiply(Real a, Real b) {
  const double product = static_cast<double>(detail::as<T>(a.value) * detail::as<T>(b.value));
  const bool exact = sizeof(T) == 8 ? std::fma(a.value, b.value, -product) == 0 : a.value * b.value == product;
  const double own = exact ? 0 : detail::rounding(product, kEpsilon<T>, detail::finite(a, b));
  if (a.bound == 0 && b.bound == 0) return {product, own};
  return {product, detail::known(detail::scaled(a.value, b.bound) + detail::scaled(b.value, a.bound) +
                                 detail::scaled(a.bound, b.bound) + own)};
}

/// The sum in elements of type `type`, without its bound.
inline Real plain_sum(rt::ElementType type, Real a, Real b) {
  if (!rt::is_narrow(type)) return {a.value + b.value, 0, a.imag + b.imag};
  const auto sum = [](double x, double y) {
    return static_cast<double>(static_cast<float>(x) + static_cast<float>(y));
  };
  return {sum(a.value, b.value), 0, sum(a.imag, b.imag)};
}

template <class T>
Real divide(Real a, Real b) {
  const double quotient = static_cast<double>(detail::as<T>(a.value) / detail::as<T>(b.value));
  const bool exact = std::isfinite(quotient) && std::fma(quotient, b.value, -a.value) == 0;
  const double own = exact ? 0 : detail::rounding(quotient, kEpsilon<T>, detail::finite(a, b) && b.value != 0);
  if (a.bound == 0 && b.bound == 0) return {quotient, own};
  if (b.value == 0 && b.bound == 0) return {quotient, a.bound < std::fabs(a.value) ? 0 : kOpen};
  const double room = std::fabs(b.value) - b.bound;
  if (!(room > 0)) return {quotient, kOpen};
  return {quotient, detail::known((a.bound + detail::scaled(quotient, b.bound)) / room + own)};
}

/// fmod: exact if the integer quotient is certain.
template <class T>
Real remainder(Real a, Real b) {
  const double r = static_cast<double>(rt::scalar::remainder(detail::as<T>(a.value), detail::as<T>(b.value)));
  if (a.bound == 0 && b.bound == 0) return {r, 0};
  const double low = std::trunc((a.value - a.bound) / b.value);
  const double high = std::trunc((a.value + a.bound) / b.value);
  return {r, b.bound == 0 && low == high ? a.bound : kOpen};
}

template <class T>
Real mod(Real a, Real b) {
  const double r = static_cast<double>(rt::scalar::mod(detail::as<T>(a.value), detail::as<T>(b.value)));
  if (a.bound == 0 && b.bound == 0) return {r, detail::rounding(r, kEpsilon<T>, false)};
  const double low = std::floor((a.value - a.bound) / b.value);
  const double high = std::floor((a.value + a.bound) / b.value);
  return {r, b.bound == 0 && low == high ? a.bound + std::fabs(b.value) * kEpsilon<T> : kOpen};
}

namespace detail {
/// The operands' share of a power's bound.
inline double power_spread(Real a, Real b, double result) {
  if (a.bound == 0 && b.bound == 0) return 0;
  const double low = a.value - a.bound;
  const double high = a.value + a.bound;
  if (low > 0) {
    double spread = 0;
    // Monotone in each operand: the extremes are at the corners.
    for (const double x : {low, high}) {
      for (const double y : {b.value - b.bound, b.value + b.bound}) {
        spread = std::max(spread, known(std::fabs(std::pow(x, y) - result)));
      }
    }
    return spread;
  }
  const bool whole = b.bound == 0 && b.value == std::nearbyint(b.value);
  if (!whole || (b.value < 0 && high >= 0)) return kOpen;
  if (b.value == 0) return 0;
  const double largest = std::fabs(a.value) + a.bound;
  const double base = b.value > 0 ? largest : std::fabs(high);
  return known(std::fabs(b.value) * std::pow(base, b.value - 1) * a.bound);
}
}  // namespace detail

template <class T>
Real power(Real a, Real b) {
  const double result = static_cast<double>(rt::scalar::power(detail::as<T>(a.value), detail::as<T>(b.value)));
  const bool finite = detail::finite(a, b) && a.value != 0;
  // Small integer powers of integers are exact in every evaluation.
  const bool exact = a.value == std::nearbyint(a.value) && b.value >= 0 && b.value == std::nearbyint(b.value) &&
                     std::fabs(result) < 1 / kEpsilon<T>;
  const double own = exact ? 0 : detail::rounding(result, kPowerUlps * kEpsilon<T>, finite);
  return {result, detail::known(detail::power_spread(a, b, result) + own)};
}

/// `min` and `max` with the language's treatment of nan, over intervals.
template <class Pick>
Real pick(Real a, Real b, const Pick& f) {
  const double result = f(a.value, b.value);
  if (a.bound == 0 && b.bound == 0) return {result, 0};
  if (result != result) return {result, std::max(a.bound, b.bound) == kOpen ? kOpen : 0};
  const double low = f(a.value - a.bound, b.value - b.bound);
  const double high = f(a.value + a.bound, b.value + b.bound);
  const double spread = std::max(low < result ? result - low : 0, high > result ? high - result : 0);
  return {result, low == low && high == high ? detail::known(spread) : kOpen};
}
inline Real min(Real a, Real b) {
  return pick(a, b, [](double x, double y) { return rt::scalar::min(x, y); });
}
inline Real max(Real a, Real b) {
  return pick(a, b, [](double x, double y) { return rt::scalar::max(x, y); });
}

/// A monotone library function `f` of element type T.
template <class T, class F>
Real monotone(Real a, const F& f) {
  const double result = static_cast<double>(f(detail::as<T>(a.value)));
  const double own = detail::library_rounding<T>(result, a.value);
  const auto wide = [&](double x) { return static_cast<double>(f(detail::as<T>(x))); };
  return {result, detail::known(detail::at_ends(a, result, wide) + own)};
}

/// exp, whose results may be zero in one evaluation and nearly zero in another.
template <class T>
Real exp(Real a) {
  Real result = monotone<T>(a, [](T x) { return rt::scalar::exp(x); });
  const bool underflows = result.value == 0 && std::isfinite(a.value);
  if (underflows && std::exp(detail::as<T>(0.98 * a.value)) != 0)
    result.bound += kLibraryDenormals * static_cast<double>(std::numeric_limits<T>::denorm_min());
  return result;
}

/// sigmoid, which is zero where the exponential in it overflows.
template <class T>
Real sigmoid(Real a) {
  Real result = monotone<T>(a, [](T x) { return rt::scalar::sigmoid(x); });
  if (result.value * ((1 - kEarlyOverflow) * static_cast<double>(std::numeric_limits<T>::max())) <= 1)
    result.bound += result.value;
  return result;
}

/// A monotone function that every evaluation computes exactly: floor, ceil, trunc, round, sign, relu.
template <class F>
Real exact_monotone(Real a, const F& f) {
  const double result = f(a.value);
  return {result, detail::at_ends(a, result, f)};
}

/// `nonnegative`: no evaluation can make the operand negative, so its interval ends at 0.
template <class T>
Real sqrt(Real a, bool nonnegative) {
  const double result = static_cast<double>(std::sqrt(detail::as<T>(a.value)));
  const bool exact = std::isfinite(result) && std::fma(result, result, -a.value) == 0;
  const double own = exact ? 0 : detail::rounding(result, kEpsilon<T>, std::isfinite(a.value));
  const auto root = [&](double x) { return std::sqrt(nonnegative ? std::max(x, 0.0) : x); };
  return {result, detail::known(detail::at_ends(a, result, root) + own)};
}

/// sin and cos: their slope is at most 1.
template <class T, class F>
Real wave(Real a, const F& f) {
  const double result = static_cast<double>(f(detail::as<T>(a.value)));
  const double own = result == result ? detail::library_rounding<T>(result, a.value) : 0;
  if (std::isinf(a.bound)) return {result, kOpen};
  return {result, std::min(a.bound, 2.0) + own};
}

template <class T>
Real tan(Real a) {
  const double result = static_cast<double>(std::tan(detail::as<T>(a.value)));
  const double own = detail::library_rounding<T>(result, a.value);
  if (a.bound == 0) return {result, own};
  const double low = std::tan(a.value - a.bound);
  const double high = std::tan(a.value + a.bound);
  const bool one_branch = a.bound < 1 && low <= result && result <= high;
  return {result, one_branch ? detail::known(std::max(high - result, result - low) + own) : kOpen};
}

/// gamma, lgamma and digamma, which have poles at 0, -1, -2, …: convex, concave or monotone between them, so that the
/// extremes are at the ends. Their error near a zero is that of results of size 1.
template <class T, class F>
Real between_poles(Real a, const F& f) {
  const double result = static_cast<double>(f(detail::as<T>(a.value)));
  double own = detail::library_rounding<T>(result, a.value);
  if (std::isfinite(result)) own += 4 * kLibraryUlps * kEpsilon<T>;
  const double low = a.value - a.bound;
  const double high = a.value + a.bound;
  const bool meets_pole = a.bound != 0 && low <= 0 && std::ceil(low) <= std::min(high, 0.0);
  const auto wide = [&](double x) { return static_cast<double>(f(detail::as<T>(x))); };
  return {result, meets_pole ? kOpen : detail::known(detail::at_ends(a, result, wide) + own)};
}

/// The angle of (x, y): open where the operands' intervals touch the cut along the negative x-axis or the origin.
template <class T>
Real atan2(Real y, Real x) {
  const double result = static_cast<double>(rt::scalar::atan2(detail::as<T>(y.value), detail::as<T>(x.value)));
  const double own = detail::library_rounding<T>(result, detail::finite(y, x) ? 0 : kOpen);
  if (y.bound == 0 && x.bound == 0) return {result, own};
  if (!(std::fabs(y.value) > y.bound) && !(x.value - x.bound > 0)) return {result, kOpen};
  double spread = 0;
  for (const double v : {y.value - y.bound, y.value + y.bound}) {
    for (const double u : {x.value - x.bound, x.value + x.bound})
      spread = std::max(spread, detail::known(std::fabs(std::atan2(v, u) - result)));
  }
  return {result, detail::known(spread + own)};
}

/// The slopes of hypot are at most 1.
template <class T>
Real hypot(Real a, Real b) {
  const double result = static_cast<double>(rt::scalar::hypot(detail::as<T>(a.value), detail::as<T>(b.value)));
  const double own = detail::library_rounding<T>(result, detail::finite(a, b) ? 0 : kOpen);
  return {result, detail::known(a.bound + b.bound + own)};
}

/// Open where the interval of `b` touches 0, and for a nan, whose sign is open.
inline Real copysign(Real a, Real b) {
  const double result = rt::scalar::copysign(a.value, b.value);
  const bool open = std::isnan(b.value) || (b.bound != 0 && !(std::fabs(b.value) > b.bound));
  return {result, open && a.value != 0 ? kOpen : a.bound};
}

/// True if the bounds leave the order of `a` and `b` open.
inline bool order_open(Real a, Real b) {
  const double sum = a.bound + b.bound;
  if (sum == 0) return false;
  if (std::isinf(sum)) return true;
  return std::hypot(a.value - b.value, a.imag - b.imag) <= sum;
}

/// Rounding to f32, as in a cast: equal in all evaluations if the operand is exact.
inline Real to_f32(Real a) {
  const double result = static_cast<double>(static_cast<float>(a.value));
  if (a.bound == 0) return {result, 0};
  return {result, detail::known(a.bound + detail::rounding(result, kEpsilon<float>, false))};
}

}  // namespace tdsl::ir::eval
