#pragma once

#include <algorithm>
#include <cmath>

#include "ir/eval/bounds.h"
#include "ir/graph/scalar.h"

// Operations on complex numbers with the radius of the disc in which any other legal evaluation lands (bounds.h has
// those on floats). Values are those of runtime/complex_math.h.
namespace tdsl::ir::eval {

/// Ulps of its absolute value by which a product may differ, and a quotient by Smith's formula.
inline constexpr double kProductUlps = 4;
inline constexpr double kQuotientUlps = 12;

namespace detail {

template <class T>
rt::Complex<T> number(Real a) {
  return {as<T>(a.value), as<T>(a.imag)};
}
template <class T>
Real disc(rt::Complex<T> z, double radius = 0) {
  return {static_cast<double>(z.re), radius, static_cast<double>(z.im)};
}

/// The rounding error of a result of that many ulps; open if finite operands gave one that is not.
inline double disc_rounding(Real result, double ulps_times_epsilon, bool finite_operands) {
  if (is_finite(result)) return magnitude(result) * ulps_times_epsilon;
  return finite_operands ? kOpen : 0;
}

/// The rounding error of a library function.
template <class T>
double disc_library_rounding(Real result, Real operand) {
  const double own = disc_rounding(result, kLibraryUlps * kEpsilon<T>, is_finite(operand));
  if (magnitude(result) == 0 || !is_finite(operand)) return own;
  if (magnitude(result) > (1 - kEarlyOverflow) * static_cast<double>(std::numeric_limits<T>::max())) return kOpen;
  return own + kLibraryDenormals * static_cast<double>(std::numeric_limits<T>::denorm_min());
}

/// bound / room, open if the disc reaches what `room` is the distance to.
inline double over(double bound, double room) { return bound == 0 ? 0 : room > 0 ? bound / room : kOpen; }

}  // namespace detail

template <class T>
Real complex_add(Real a, Real b) {
  const Real re = add<T>({a.value, 0}, {b.value, 0});
  const Real im = add<T>({a.imag, 0}, {b.imag, 0});
  return {re.value, detail::known(a.bound + b.bound + std::hypot(re.bound, im.bound)), im.value};
}

inline Real complex_negate(Real a) { return {-a.value, a.bound, -a.imag}; }

template <class T>
Real complex_multiply(Real a, Real b) {
  const Real product = detail::disc(detail::number<T>(a) * detail::number<T>(b));
  // Exact if all products and sums of parts are.
  const auto part = [](double x) { return Real{x, 0}; };
  const Real re = subtract<T>(multiply<T>(part(a.value), part(b.value)), multiply<T>(part(a.imag), part(b.imag)));
  const Real im = add<T>(multiply<T>(part(a.value), part(b.imag)), multiply<T>(part(a.imag), part(b.value)));
  const double size = magnitude(a) * magnitude(b);
  double own = 0;
  if (!is_finite(product)) {
    own = is_finite(a) && is_finite(b) ? kOpen : 0;
  } else if (re.bound != 0 || im.bound != 0) {
    own = size * kProductUlps * kEpsilon<T>;
  }
  if (a.bound == 0 && b.bound == 0) return {product.value, own, product.imag};
  const double spread =
      detail::scaled(magnitude(a), b.bound) + detail::scaled(magnitude(b), a.bound) + detail::scaled(a.bound, b.bound);
  return {product.value, detail::known(spread + own), product.imag};
}

template <class T>
Real complex_divide(Real a, Real b) {
  Real quotient = detail::disc(detail::number<T>(a) / detail::number<T>(b));
  const double divisor = magnitude(b);
  const bool by_zero = divisor == 0 && b.bound == 0;
  const bool exact = b.imag == 0 && !by_zero && divide<T>({a.value, 0}, {b.value, 0}).bound == 0 &&
                     divide<T>({a.imag, 0}, {b.value, 0}).bound == 0;
  const bool finite = is_finite(a) && is_finite(b) && !by_zero;
  const double own = exact ? 0 : detail::disc_rounding(quotient, kQuotientUlps * kEpsilon<T>, finite);
  if (by_zero) {
    quotient.bound = a.bound < magnitude(a) || a.bound == 0 ? 0 : kOpen;
  } else {
    const double spread = a.bound + detail::scaled(magnitude(quotient), b.bound);
    quotient.bound = detail::known((spread == 0 ? 0 : detail::over(spread, divisor - b.bound)) + own);
  }
  return quotient;
}

/// The absolute value, a float.
template <class T>
Real complex_abs(Real a) {
  const double result = static_cast<double>(rt::scalar::abs(detail::number<T>(a)));
  return {result, detail::known(a.bound + detail::library_rounding<T>(result, is_finite(a) ? 0 : kOpen))};
}

/// The angle, a float: open where the disc touches the negative real axis or 0.
template <class T>
Real complex_arg(Real a) {
  const double result = static_cast<double>(rt::scalar::arg(detail::number<T>(a)));
  const double own = detail::library_rounding<T>(result, is_finite(a) ? 0 : kOpen);
  if (a.bound == 0) return {result, own};
  const double size = magnitude(a);
  const bool touches = !(size > a.bound) || (a.value <= a.bound && std::fabs(a.imag) <= a.bound);
  return {result, touches ? kOpen : detail::known(std::asin(a.bound / size) + own)};
}

/// Unit vectors differ by at most 2.
template <class T>
Real complex_sign(Real a) {
  const Real result = detail::disc(rt::scalar::sign(detail::number<T>(a)));
  const double size = magnitude(a);
  if (size == 0 && a.bound == 0) return result;
  const double spread = a.bound == 0 ? 0 : std::min(2.0, 2 * a.bound / size);
  return {result.value, detail::known(spread + detail::disc_library_rounding<T>(result, a)), result.imag};
}

namespace detail {

/// True if the disc touches the ray of the real axis from `end` on: to the right (`sign` 1) or left (-1).
inline bool touches_ray(double re, double im, double bound, double end, double sign) {
  return bound != 0 && std::fabs(im) <= bound && sign * re + bound >= sign * end;
}

inline double distance(Real a, double re, double im) { return std::hypot(a.value - re, a.imag - im); }

/// The most by which the function differs over the operand's disc from its `value` in the middle.
inline double disc_spread(UnaryOp op, Real a, Real value) {
  const double r = a.bound;
  const double size = magnitude(a);
  const auto ray = [&](double end, double sign) { return touches_ray(a.value, a.imag, r, end, sign); };
  const auto ray_up = [&](double end, double sign) { return touches_ray(a.imag, a.value, r, end, sign); };
  // Over the square root of the product of the distances to two branch points.
  const auto roots = [&](double one, double other) {
    return one > r && other > r ? r / std::sqrt((one - r) * (other - r)) : kOpen;
  };
  // Of tan and tanh: |sin w| / |cos z cos(z + w)|.
  const auto tangent = [&](double cosine, double out) {
    const double least = cosine - r * std::cosh(out + r);
    return least > 0 ? std::sinh(r) / (cosine * least) : kOpen;
  };
  switch (op) {
    case UnaryOp::kExp: return magnitude(value) * std::expm1(r);
    case UnaryOp::kExpm1: return std::hypot(value.value + 1, value.imag) * std::expm1(r);
    case UnaryOp::kLog: return ray(0, -1) ? kOpen : over(r, size - r);
    case UnaryOp::kLog2: return ray(0, -1) ? kOpen : 1.5 * over(r, size - r);
    case UnaryOp::kLog10: return ray(0, -1) ? kOpen : over(r, size - r);
    case UnaryOp::kLog1p: return ray(-1, -1) ? kOpen : over(r, distance(a, -1, 0) - r);
    case UnaryOp::kSqrt: return ray(0, -1) ? kOpen : r / std::sqrt(size);
    case UnaryOp::kSin:
    case UnaryOp::kCos: return r * std::cosh(std::fabs(a.imag) + r);
    case UnaryOp::kSinh:
    case UnaryOp::kCosh: return r * std::cosh(std::fabs(a.value) + r);
    case UnaryOp::kTan: return tangent(magnitude(disc(rt::scalar::cos(number<double>(a)))), std::fabs(a.imag));
    case UnaryOp::kTanh: return tangent(magnitude(disc(rt::scalar::cosh(number<double>(a)))), std::fabs(a.value));
    case UnaryOp::kAsin:
    case UnaryOp::kAcos: return ray(1, 1) || ray(-1, -1) ? kOpen : roots(distance(a, 1, 0), distance(a, -1, 0));
    case UnaryOp::kAtanh: {
      const double bound = roots(distance(a, 1, 0), distance(a, -1, 0));
      return ray(1, 1) || ray(-1, -1) ? kOpen : bound * bound / r;
    }
    case UnaryOp::kAcosh: return ray(1, -1) ? kOpen : roots(distance(a, 1, 0), distance(a, -1, 0));
    case UnaryOp::kAsinh: return ray_up(1, 1) || ray_up(-1, -1) ? kOpen : roots(distance(a, 0, 1), distance(a, 0, -1));
    case UnaryOp::kAtan: {
      const double bound = roots(distance(a, 0, 1), distance(a, 0, -1));
      return ray_up(1, 1) || ray_up(-1, -1) ? kOpen : bound * bound / r;
    }
    default: return kOpen;
  }
}

}  // namespace detail

/// A library function `f` of Complex<T>.
template <class T, class F>
Real complex_function(UnaryOp op, Real a, const F& f) {
  const Real result = detail::disc(f(detail::number<T>(a)));
  const double spread = a.bound == 0 ? 0 : std::isinf(a.bound) ? kOpen : detail::disc_spread(op, a, result);
  return {result.value, detail::known(spread + detail::disc_library_rounding<T>(result, a)), result.imag};
}

/// `z ** n` as repeated multiplication.
template <class T>
Real complex_power(Real z, Whole n) {
  Real result{1, 0, 0};
  const auto value = static_cast<std::uint64_t>(n.value);
  for (std::uint64_t e = n.value < 0 ? 0 - value : value; e != 0; e >>= 1U) {
    if ((e & 1U) != 0) result = complex_multiply<T>(result, z);
    if (e > 1) z = complex_multiply<T>(z, z);
  }
  if (n.value < 0) result = complex_divide<T>({1, 0, 0}, result);
  result.bound = std::max(result.bound, n.bound);
  return result;
}

/// `z ** w` as exp(w log z).
template <class T>
Real complex_power(Real z, Real w) {
  const Real result = detail::disc(rt::scalar::power(detail::number<T>(z), detail::number<T>(w)));
  const auto with = [&](double bound) { return Real{result.value, bound, result.imag}; };
  if (magnitude(w) == 0 && w.bound == 0) return result;
  if (!(magnitude(z) > z.bound)) return with(z.bound == 0 && !(std::fabs(w.value) <= w.bound) ? 0 : kOpen);
  const Real log = complex_function<T>(UnaryOp::kLog, z, [](rt::Complex<T> x) { return rt::scalar::log(x); });
  const Real exponent = complex_multiply<T>(w, log);
  const double spread = magnitude(result) * std::expm1(exponent.bound);
  return with(detail::known(spread + detail::disc_library_rounding<T>(result, exponent)));
}

/// Rounding to c64, as in a cast.
inline Real to_c64(Real a) {
  const Real re = to_f32({a.value, a.bound});
  const Real im = to_f32({a.imag, a.bound});
  return {re.value, a.bound == 0 ? 0 : detail::known(std::hypot(re.bound, im.bound)), im.value};
}

/// The product in elements of type `type`.
inline Real multiply(rt::ElementType type, Real a, Real b) {
  const bool narrow = rt::is_narrow(type);
  if (rt::is_complex(type)) return narrow ? complex_multiply<float>(a, b) : complex_multiply<double>(a, b);
  return narrow ? multiply<float>(a, b) : multiply<double>(a, b);
}

}  // namespace tdsl::ir::eval
