#include "runtime/kernels/vector_math.h"

#include <cmath>
#include <limits>
#include <string_view>

#ifdef TDSL_HAS_SIMD_LEVELS

#include <immintrin.h>

// SLEEF's `finz` functions are bitwise equal for every width. They require AVX2 and fused multiply-add; other
// processors (before 2013) use libm.
#define TDSL_HAS_SLEEF (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))

namespace {

template <class V>
using Element = std::remove_cvref_t<decltype(std::declval<V&>()[0])>;

template <class V>
constexpr unsigned kLanes = sizeof(V) / sizeof(Element<V>);

template <class V, class F>
[[gnu::noinline]] void each_lane(V& x, const F& f) {
  for (unsigned lane = 0; lane < kLanes<V>; ++lane) x[lane] = f(x[lane]);
}
template <class V, class F>
[[gnu::noinline]] void each_pair_of_lanes(V& x, const V& y, const F& f) {
  for (unsigned lane = 0; lane < kLanes<V>; ++lane) x[lane] = f(x[lane], y[lane]);
}

#ifdef TDSL_SLEEF

/// The magnitude from which on SLEEF's function is infinite although the result is finite, or somewhat less; 0: none.
template <class T>
constexpr T limit_of(std::string_view function) {
  constexpr bool wide = sizeof(T) == 8;
  if (function == "log1p") return static_cast<T>(wide ? 0x1p1000 : 0x1p100);
  if (function == "sinh" || function == "cosh") return static_cast<T>(wide ? 700 : 85);
  if (function == "asinh" || function == "acosh") return static_cast<T>(wide ? 0x1p500 : 0x1p60);
  return 0;
}

/// With AVX-512 the logarithm of a negative number is a nan that depends on the number.
constexpr bool gives_odd_nans(std::string_view function) {
  return function.starts_with("log") || function == "acosh" || function == "atanh" || function == "asin" ||
         function == "acos";
}

inline bool any_beyond(__m128d x, double limit) {
  return _mm_movemask_pd(x > limit) + _mm_movemask_pd(x < -limit) != 0;
}
inline bool any_beyond(__m128 x, float limit) { return _mm_movemask_ps(x > limit) + _mm_movemask_ps(x < -limit) != 0; }
[[gnu::target("avx")]] inline bool any_beyond(__m256d x, double limit) {
  return _mm256_movemask_pd(x > limit) + _mm256_movemask_pd(x < -limit) != 0;
}
[[gnu::target("avx")]] inline bool any_beyond(__m256 x, float limit) {
  return _mm256_movemask_ps(x > limit) + _mm256_movemask_ps(x < -limit) != 0;
}
[[gnu::target("avx512f")]] inline bool any_beyond(__m512d x, double limit) {
  return (_mm512_cmp_pd_mask(x, _mm512_set1_pd(limit), _CMP_GT_OQ) |
          _mm512_cmp_pd_mask(x, _mm512_set1_pd(-limit), _CMP_LT_OQ)) != 0;
}
[[gnu::target("avx512f")]] inline bool any_beyond(__m512 x, float limit) {
  return (_mm512_cmp_ps_mask(x, _mm512_set1_ps(limit), _CMP_GT_OQ) |
          _mm512_cmp_ps_mask(x, _mm512_set1_ps(-limit), _CMP_LT_OQ)) != 0;
}

template <class T>
bool is_beyond(T x, T limit) {
  return x > limit || x < -limit;
}

/// Replaces the lanes beyond the limit by the library's value.
template <class V, class F>
[[gnu::noinline]] void mend(const V& x, V& result, Element<V> limit, const F& f) {
  for (unsigned lane = 0; lane < kLanes<V>; ++lane) {
    if (is_beyond(x[lane], limit)) result[lane] = f(x[lane]);
  }
}

template <class V>
[[gnu::always_inline]] inline void mend_nan(V& result) {
  const V nan = V{} + std::numeric_limits<Element<V>>::quiet_NaN();
  result = result == result ? result : nan;
}

#endif

}  // namespace

// One function for one vector width. `T` and `suffix` describe its elements, `V` is the vector, `isa` the instruction
// set (b: SSE2, c: AVX, d: AVX2, e: AVX-512) in the vector function ABI of x86-64, and `width` is SLEEF's name of the
// implementation. (tdsl_exp cannot be defined under its own name, for which the compiler would generate vector versions
// because of its simd attribute.)
#ifdef TDSL_SLEEF
#define TDSL_SCALAR(function, T, suffix, width)                                          \
  extern "C" T Sleef_finz_##function##width(T) noexcept;                                 \
  extern "C" T scalar_##function##suffix(T) noexcept __asm__("tdsl_" #function #suffix); \
  T scalar_##function##suffix(T x) noexcept {                                            \
    constexpr T limit = limit_of<T>(#function);                                          \
    if (!TDSL_HAS_SLEEF || (limit != 0 && is_beyond(x, limit))) return std::function(x); \
    return Sleef_finz_##function##width(x);                                              \
  }
#define TDSL_VECTOR(function, T, suffix, V, processors, isa, width)                                     \
  extern "C" [[gnu::target(processors)]] V Sleef_finz_##function##width(V) noexcept;                    \
  extern "C" [[gnu::target(processors)]] V _ZGV##isa##v_tdsl_##function##suffix(V x) noexcept;          \
  V _ZGV##isa##v_tdsl_##function##suffix(V x) noexcept {                                                \
    if (#isa[0] < 'd' && !TDSL_HAS_SLEEF) return each_lane(x, [](T a) { return std::function(a); }), x; \
    V result = Sleef_finz_##function##width(x);                                                         \
    constexpr T limit = limit_of<T>(#function);                                                         \
    if constexpr (limit != 0) {                                                                         \
      if (any_beyond(x, limit)) [[unlikely]]                                                            \
        mend(x, result, limit, [](T a) { return std::function(a); });                                   \
    }                                                                                                   \
    if constexpr (gives_odd_nans(#function) && #isa[0] == 'e') mend_nan(result);                        \
    return result;                                                                                      \
  }
#define TDSL_SCALAR_OF_TWO(function, T, suffix, width)                                      \
  extern "C" T Sleef_finz_##function##width(T, T) noexcept;                                 \
  extern "C" T scalar_##function##suffix(T, T) noexcept __asm__("tdsl_" #function #suffix); \
  T scalar_##function##suffix(T x, T y) noexcept {                                          \
    return TDSL_HAS_SLEEF ? Sleef_finz_##function##width(x, y) : std::function(x, y);       \
  }
#define TDSL_VECTOR_OF_TWO(function, T, suffix, V, processors, isa, width)                           \
  extern "C" [[gnu::target(processors)]] V Sleef_finz_##function##width(V, V) noexcept;              \
  extern "C" [[gnu::target(processors)]] V _ZGV##isa##vv_tdsl_##function##suffix(V x, V y) noexcept; \
  V _ZGV##isa##vv_tdsl_##function##suffix(V x, V y) noexcept {                                       \
    if (#isa[0] < 'd' && !TDSL_HAS_SLEEF)                                                            \
      return each_pair_of_lanes(x, y, [](T a, T b) { return std::function(a, b); }), x;              \
    return Sleef_finz_##function##width(x, y);                                                       \
  }
#else
#define TDSL_SCALAR(function, T, suffix, width)                                          \
  extern "C" T scalar_##function##suffix(T) noexcept __asm__("tdsl_" #function #suffix); \
  T scalar_##function##suffix(T x) noexcept { return std::function(x); }
#define TDSL_VECTOR(function, T, suffix, V, processors, isa, width)                            \
  extern "C" [[gnu::target(processors)]] V _ZGV##isa##v_tdsl_##function##suffix(V x) noexcept; \
  V _ZGV##isa##v_tdsl_##function##suffix(V x) noexcept {                                       \
    return each_lane(x, [](T a) { return std::function(a); }), x;                              \
  }
#define TDSL_SCALAR_OF_TWO(function, T, suffix, width)                                      \
  extern "C" T scalar_##function##suffix(T, T) noexcept __asm__("tdsl_" #function #suffix); \
  T scalar_##function##suffix(T x, T y) noexcept { return std::function(x, y); }
#define TDSL_VECTOR_OF_TWO(function, T, suffix, V, processors, isa, width)                           \
  extern "C" [[gnu::target(processors)]] V _ZGV##isa##vv_tdsl_##function##suffix(V x, V y) noexcept; \
  V _ZGV##isa##vv_tdsl_##function##suffix(V x, V y) noexcept {                                       \
    return each_pair_of_lanes(x, y, [](T a, T b) { return std::function(a, b); }), x;                \
  }
#endif

#define TDSL_AVX2 "avx2,fma"
#define TDSL_AVX512 "avx512f,avx512dq,avx512bw,avx512vl,fma"
/// All widths of a function. `ulp` is the part of SLEEF's name that states the accuracy.
#define TDSL_WIDTHS(SCALAR, VECTOR, function, ulp)                         \
  SCALAR(function, double, , d1_##ulp##purecfma)                           \
  SCALAR(function, float, f, f1_##ulp##purecfma)                           \
  VECTOR(function, double, , __m128d, "sse2", bN2, d2_##ulp##avx2128)      \
  VECTOR(function, double, , __m256d, "avx", cN4, d4_##ulp##avx2)          \
  VECTOR(function, double, , __m256d, TDSL_AVX2, dN4, d4_##ulp##avx2)      \
  VECTOR(function, double, , __m512d, TDSL_AVX512, eN8, d8_##ulp##avx512f) \
  VECTOR(function, float, f, __m128, "sse2", bN4, f4_##ulp##avx2128)       \
  VECTOR(function, float, f, __m256, "avx", cN8, f8_##ulp##avx2)           \
  VECTOR(function, float, f, __m256, TDSL_AVX2, dN8, f8_##ulp##avx2)       \
  VECTOR(function, float, f, __m512, TDSL_AVX512, eN16, f16_##ulp##avx512f)
#define TDSL_FUNCTION(function, ulp) TDSL_WIDTHS(TDSL_SCALAR, TDSL_VECTOR, function, ulp)
#define TDSL_FUNCTION_OF_TWO(function, ulp) TDSL_WIDTHS(TDSL_SCALAR_OF_TWO, TDSL_VECTOR_OF_TWO, function, ulp)

TDSL_FUNCTION(exp, u10)
TDSL_FUNCTION(log, u10)
TDSL_FUNCTION(log1p, u10)
TDSL_FUNCTION(expm1, u10)
TDSL_FUNCTION(sin, u10)
TDSL_FUNCTION(cos, u10)
TDSL_FUNCTION(tan, u10)
TDSL_FUNCTION(tanh, u10)
TDSL_FUNCTION(erf, u10)
TDSL_FUNCTION(asin, u10)
TDSL_FUNCTION(acos, u10)
TDSL_FUNCTION(atan, u10)
TDSL_FUNCTION(sinh, u10)
TDSL_FUNCTION(cosh, u10)
TDSL_FUNCTION(asinh, u10)
TDSL_FUNCTION(acosh, u10)
TDSL_FUNCTION(atanh, u10)
TDSL_FUNCTION(cbrt, u10)
TDSL_FUNCTION(log2, u10)
TDSL_FUNCTION(log10, u10)
TDSL_FUNCTION(exp2, u10)
TDSL_FUNCTION(erfc, u15)
TDSL_FUNCTION_OF_TWO(atan2, u10)
TDSL_FUNCTION_OF_TWO(hypot, u05)

#endif
