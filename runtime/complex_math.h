#pragma once

#include <cmath>
#include <complex>
#include <cstdint>

#include "runtime/complex.h"

/// The language's operations on complex numbers (language page, section "Complex numbers"); scalar_math.h has those on
/// other types and includes this header. Functions have the branch cuts of C99: the sign of a zero part tells the side.
/// Parts of results that are not finite are open.
namespace tdsl::rt::scalar {

template <class T>
[[nodiscard]] constexpr Complex<T> add(Complex<T> a, Complex<T> b) {
  return a + b;
}
template <class T>
[[nodiscard]] constexpr Complex<T> subtract(Complex<T> a, Complex<T> b) {
  return a - b;
}
template <class T>
[[nodiscard]] constexpr Complex<T> multiply(Complex<T> a, Complex<T> b) {
  return a * b;
}
template <class T>
[[nodiscard]] constexpr Complex<T> divide(Complex<T> a, Complex<T> b) {
  return a / b;
}
template <class T>
[[nodiscard]] constexpr Complex<T> negate(Complex<T> a) {
  return -a;
}
template <class T>
[[nodiscard]] constexpr Complex<T> square(Complex<T> a) {
  return a * a;
}

/// An absent factor or numerator is 0 in both parts.
template <class T>
[[nodiscard]] constexpr Complex<T> absent_multiply(Complex<T> a, Complex<T> b) {
  return a == Complex<T>(0) ? Complex<T>(0) : a * b;
}
template <class T>
[[nodiscard]] constexpr Complex<T> mutual_multiply(Complex<T> a, Complex<T> b) {
  return a == Complex<T>(0) || b == Complex<T>(0) ? Complex<T>(0) : a * b;
}
template <class T>
[[nodiscard]] constexpr Complex<T> absent_divide(Complex<T> a, Complex<T> b) {
  return a == Complex<T>(0) ? Complex<T>(0) : a / b;
}

// Parts. `complex` is the number with these parts.

template <class T>
[[nodiscard]] constexpr Complex<T> complex(T re, T im) {
  return {re, im};
}
template <class T>
[[nodiscard]] constexpr T real(Complex<T> z) {
  return z.re;
}
template <class T>
[[nodiscard]] constexpr T imag(Complex<T> z) {
  return z.im;
}
template <class T>
[[nodiscard]] constexpr Complex<T> conj(Complex<T> z) {
  return {z.re, -z.im};
}
template <class T>
[[nodiscard]] inline T abs(Complex<T> z) {
  return std::hypot(z.re, z.im);
}
/// The angle, in [-pi, pi].
template <class T>
[[nodiscard]] inline T arg(Complex<T> z) {
  return std::atan2(z.im, z.re);
}
/// z / abs(z), 0 at 0.
template <class T>
[[nodiscard]] inline Complex<T> sign(Complex<T> z) {
  const T size = abs(z);
  return size == T{0} ? Complex<T>(0) : Complex<T>(z.re / size, z.im / size);
}

template <class T>
[[nodiscard]] constexpr bool isnan(Complex<T> z) {
  return z.re != z.re || z.im != z.im;
}
template <class T>
[[nodiscard]] inline bool isinf(Complex<T> z) {
  return std::isinf(z.re) || std::isinf(z.im);
}

#define TDSL_COMPLEX_FUNCTION(name)                                   \
  template <class T>                                                  \
  [[nodiscard]] inline Complex<T> name(Complex<T> z) {                \
    const std::complex<T> w = std::name(std::complex<T>(z.re, z.im)); \
    return {w.real(), w.imag()};                                      \
  }
TDSL_COMPLEX_FUNCTION(sqrt)
TDSL_COMPLEX_FUNCTION(log)
TDSL_COMPLEX_FUNCTION(log10)
TDSL_COMPLEX_FUNCTION(sin)
TDSL_COMPLEX_FUNCTION(cos)
TDSL_COMPLEX_FUNCTION(tan)
TDSL_COMPLEX_FUNCTION(sinh)
TDSL_COMPLEX_FUNCTION(cosh)
TDSL_COMPLEX_FUNCTION(tanh)
TDSL_COMPLEX_FUNCTION(asin)
TDSL_COMPLEX_FUNCTION(acos)
TDSL_COMPLEX_FUNCTION(atan)
TDSL_COMPLEX_FUNCTION(asinh)
TDSL_COMPLEX_FUNCTION(acosh)
TDSL_COMPLEX_FUNCTION(atanh)
#undef TDSL_COMPLEX_FUNCTION

/// exp(re) (cos(im) + i sin(im)), as the vector version in vector_math.h has it.
template <class T>
[[nodiscard]] inline Complex<T> exp(Complex<T> z) {
  const T size = std::exp(z.re);
  return {size * std::cos(z.im), size * std::sin(z.im)};
}
/// Accurate near 0: both parts have the error of the number's absolute value.
template <class T>
[[nodiscard]] inline Complex<T> expm1(Complex<T> z) {
  const T half = std::sin(z.im / T{2});
  const T grown = std::expm1(z.re);
  return {grown * std::cos(z.im) - T{2} * half * half, (grown + T{1}) * std::sin(z.im)};
}
template <class T>
[[nodiscard]] inline Complex<T> log1p(Complex<T> z) {
  if (std::fabs(z.re) > T(0.5) || std::fabs(z.im) > T(0.5)) return log(Complex<T>(T{1} + z.re, z.im));
  return {T(0.5) * std::log1p(z.re * (T{2} + z.re) + z.im * z.im), std::atan2(z.im, T{1} + z.re)};
}
template <class T>
[[nodiscard]] inline Complex<T> log2(Complex<T> z) {
  constexpr T kLog2E = static_cast<T>(1.4426950408889634074);
  const Complex<T> w = log(z);
  return {w.re * kLog2E, w.im * kLog2E};
}

/// `z ** n` multiplies; a negative n gives 1 / z ** -n.
template <class T>
[[nodiscard]] constexpr Complex<T> power(Complex<T> z, std::int64_t n) {
  Complex<T> result(1);
  for (std::uint64_t e = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n); e != 0; e >>= 1U) {
    if ((e & 1U) != 0) result *= z;
    if (e > 1) z *= z;
  }
  return n < 0 ? Complex<T>(1) / result : result;
}
/// `z ** w` is exp(w log z): 1 for w = 0; for z = 0, 0 if the real part of w is positive, else nan.
template <class T>
[[nodiscard]] inline Complex<T> power(Complex<T> z, Complex<T> w) {
  if (w == Complex<T>(0)) return Complex<T>(1);
  if (z == Complex<T>(0)) return w.re > T{0} ? Complex<T>(0) : Complex<T>(T(NAN), T(NAN));
  return exp(w * log(z));
}

}  // namespace tdsl::rt::scalar
