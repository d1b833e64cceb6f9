#pragma once

#include <cmath>
#include <type_traits>

/// Complex numbers as tensors store them. Depends on no other header of the runtime.
namespace tdsl::rt {

/// A number with parts of type `T`, laid out as std::complex<T>, NumPy, BLIS and LAPACK have it. Products and quotients
/// are the plain formulas in both parts: without std::complex's second attempt at results that are nan, a call and a
/// branch per product, loops over these vectorize. Where a part is inf or nan a result is not finite, and which part is
/// inf and which nan is open, as the language says. There is no order.
template <class T>
struct Complex {
  using Part = T;
  T re;
  T im;

  Complex() = default;  ///< trivial: blocks are raw memory
  constexpr Complex(T real, T imaginary) : re(real), im(imaginary) {}
  /// A real number, or 0 and 1 in code that serves all element types.
  template <class R>
  requires std::is_arithmetic_v<R>
  constexpr Complex(R real) : re(static_cast<T>(real)), im(0) {}  // NOLINT(google-explicit-constructor): as for reals
  template <class R>
  requires(!std::is_same_v<R, T>) constexpr explicit Complex(Complex<R> z)
      : re(static_cast<T>(z.re)), im(static_cast<T>(z.im)) {}

  friend constexpr bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
  friend constexpr Complex operator-(Complex a) { return {-a.re, -a.im}; }
  friend constexpr Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend constexpr Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend constexpr Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  /// By a real number, both parts alone, in the runtime. Programs multiply by the complex number with imaginary part 0,
  /// as the language says, which differs in the sign of zeros.
  friend constexpr Complex operator*(T a, Complex b) { return {a * b.re, a * b.im}; }
  friend constexpr Complex operator*(Complex a, T b) { return {a.re * b, a.im * b}; }
  friend constexpr Complex operator/(Complex a, T b) { return {a.re / b, a.im / b}; }
  /// Smith's formula: scaled by the divisor's larger part, so that nothing overflows on the way. By 0 not finite.
  friend constexpr Complex operator/(Complex a, Complex b) {
    const bool wide = (b.re < 0 ? -b.re : b.re) >= (b.im < 0 ? -b.im : b.im);
    const T large = wide ? b.re : b.im;
    const T ratio = (wide ? b.im : b.re) / large;
    const T divisor = large + (wide ? b.im : b.re) * ratio;
    const T x = wide ? a.re : a.im;
    const T y = wide ? a.im : a.re;
    const T re = (x + y * ratio) / divisor;
    const T im = (y - x * ratio) / divisor;
    return {re, wide ? im : -im};
  }
  constexpr Complex& operator+=(Complex b) { return *this = *this + b; }
  constexpr Complex& operator-=(Complex b) { return *this = *this - b; }
  constexpr Complex& operator*=(Complex b) { return *this = *this * b; }
  constexpr Complex& operator/=(Complex b) { return *this = *this / b; }
};

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<Complex<T>> = true;

namespace detail {
template <class T>
struct PartOf {
  using type = T;
};
template <class T>
struct PartOf<Complex<T>> {
  using type = T;
};
}  // namespace detail

/// The type of a number's parts: `T` of `Complex<T>`, else the type itself.
template <class T>
using PartOf = typename detail::PartOf<T>::type;

}  // namespace tdsl::rt
