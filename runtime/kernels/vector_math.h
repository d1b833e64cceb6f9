#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/simd_level.h"

// Library functions that g++ vectorises: a call in a loop becomes one call per vector. Results are bitwise equal for
// every width, including scalar, so the alignment of a loop's vectors does not matter. They differ from libm's by at
// most 2 ulp; zeros, infinities and nan are libm's, but exp and expm1 may overflow from 0.999998 of the largest number
// on.
//
// The implementation is chosen when the runtime is built: SLEEF (TDSL_SLEEF) or libm, element by element (reported by
// math_library.h). Used by kernels and single-task loops; procedures, computations repeated on every rank and the
// evaluator use scalar_math.h.

#ifdef TDSL_HAS_SIMD_LEVELS
#define TDSL_VECTOR_FUNCTION(function)                                              \
  [[gnu::simd("notinbranch"), gnu::const]] double tdsl_##function(double) noexcept; \
  [[gnu::simd("notinbranch"), gnu::const]] float tdsl_##function##f(float) noexcept;
#define TDSL_VECTOR_FUNCTION_OF_TWO(function)                                               \
  [[gnu::simd("notinbranch"), gnu::const]] double tdsl_##function(double, double) noexcept; \
  [[gnu::simd("notinbranch"), gnu::const]] float tdsl_##function##f(float, float) noexcept;
extern "C" {
TDSL_VECTOR_FUNCTION(exp)
TDSL_VECTOR_FUNCTION(log)
TDSL_VECTOR_FUNCTION(log1p)
TDSL_VECTOR_FUNCTION(expm1)
TDSL_VECTOR_FUNCTION(sin)
TDSL_VECTOR_FUNCTION(cos)
TDSL_VECTOR_FUNCTION(tan)
TDSL_VECTOR_FUNCTION(tanh)
TDSL_VECTOR_FUNCTION(erf)
TDSL_VECTOR_FUNCTION(asin)
TDSL_VECTOR_FUNCTION(acos)
TDSL_VECTOR_FUNCTION(atan)
TDSL_VECTOR_FUNCTION(sinh)
TDSL_VECTOR_FUNCTION(cosh)
TDSL_VECTOR_FUNCTION(asinh)
TDSL_VECTOR_FUNCTION(acosh)
TDSL_VECTOR_FUNCTION(atanh)
TDSL_VECTOR_FUNCTION(cbrt)
TDSL_VECTOR_FUNCTION(log2)
TDSL_VECTOR_FUNCTION(log10)
TDSL_VECTOR_FUNCTION(exp2)
TDSL_VECTOR_FUNCTION(erfc)
TDSL_VECTOR_FUNCTION_OF_TWO(atan2)
TDSL_VECTOR_FUNCTION_OF_TWO(hypot)
}
#undef TDSL_VECTOR_FUNCTION
#undef TDSL_VECTOR_FUNCTION_OF_TWO
#define TDSL_VECTOR_FUNCTION(function)                            \
  inline double function(double a) { return tdsl_##function(a); } \
  inline float function(float a) { return tdsl_##function##f(a); }
#define TDSL_VECTOR_FUNCTION_OF_TWO(function)                                  \
  inline double function(double a, double b) { return tdsl_##function(a, b); } \
  inline float function(float a, float b) { return tdsl_##function##f(a, b); }
#else
#define TDSL_VECTOR_FUNCTION(function) using scalar::function;
#define TDSL_VECTOR_FUNCTION_OF_TWO(function) using scalar::function;
#endif

namespace tdsl::rt::math {

TDSL_VECTOR_FUNCTION(exp)
TDSL_VECTOR_FUNCTION(log)
TDSL_VECTOR_FUNCTION(log1p)
TDSL_VECTOR_FUNCTION(expm1)
TDSL_VECTOR_FUNCTION(sin)
TDSL_VECTOR_FUNCTION(cos)
TDSL_VECTOR_FUNCTION(tan)
TDSL_VECTOR_FUNCTION(tanh)
TDSL_VECTOR_FUNCTION(erf)
TDSL_VECTOR_FUNCTION(asin)
TDSL_VECTOR_FUNCTION(acos)
TDSL_VECTOR_FUNCTION(atan)
TDSL_VECTOR_FUNCTION(sinh)
TDSL_VECTOR_FUNCTION(cosh)
TDSL_VECTOR_FUNCTION(asinh)
TDSL_VECTOR_FUNCTION(acosh)
TDSL_VECTOR_FUNCTION(atanh)
TDSL_VECTOR_FUNCTION(cbrt)
TDSL_VECTOR_FUNCTION(log2)
TDSL_VECTOR_FUNCTION(log10)
TDSL_VECTOR_FUNCTION(exp2)
TDSL_VECTOR_FUNCTION(erfc)
TDSL_VECTOR_FUNCTION_OF_TWO(atan2)
TDSL_VECTOR_FUNCTION_OF_TWO(hypot)
// Without vector versions.
using scalar::digamma;
using scalar::gamma;
using scalar::keyed_below;
using scalar::keyed_bits;
using scalar::keyed_normal;
using scalar::keyed_uniform;
using scalar::lgamma;

/// 1 / (1 + exp(-a)), like scalar::sigmoid.
template <scalar::Real T>
[[nodiscard]] inline T sigmoid(T a) {
  return T{1} / (T{1} + exp(-a));
}

#ifdef TDSL_HAS_SIMD_LEVELS
/// Functions of complex numbers, by the vector functions of their parts.
template <class T>
[[nodiscard]] inline Complex<T> exp(Complex<T> z) {
  const T size = exp(z.re);
  return {size * cos(z.im), size * sin(z.im)};
}
template <class T>
[[nodiscard]] inline T abs(Complex<T> z) {
  return hypot(z.re, z.im);
}
template <class T>
[[nodiscard]] inline T arg(Complex<T> z) {
  return atan2(z.im, z.re);
}
#else
using scalar::abs;
using scalar::arg;
#endif

/// `condition ? a : b` with both values already computed. Otherwise compilers would move a call into a branch and not
/// vectorise it.
template <scalar::Real T>
[[nodiscard, gnu::always_inline]] inline T choose(bool condition, T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  const Bits mask = Bits{0} - static_cast<Bits>(condition);
  return std::bit_cast<T>(static_cast<Bits>((std::bit_cast<Bits>(a) & mask) | (std::bit_cast<Bits>(b) & ~mask)));
}

}  // namespace tdsl::rt::math

#undef TDSL_VECTOR_FUNCTION
#undef TDSL_VECTOR_FUNCTION_OF_TWO
