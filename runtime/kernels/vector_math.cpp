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

#ifdef TDSL_SLEEF

/// From here on log(x) equals log1p(x). SLEEF's log1p is infinite from 1e307 (f32: 1e38) on.
template <class T>
constexpr T kLarge = static_cast<T>(sizeof(T) == 8 ? 0x1p1000 : 0x1p100);

inline bool any_large(__m128d x) { return _mm_movemask_pd(x > kLarge<double>) != 0; }
inline bool any_large(__m128 x) { return _mm_movemask_ps(x > kLarge<float>) != 0; }
[[gnu::target("avx")]] inline bool any_large(__m256d x) { return _mm256_movemask_pd(x > kLarge<double>) != 0; }
[[gnu::target("avx")]] inline bool any_large(__m256 x) { return _mm256_movemask_ps(x > kLarge<float>) != 0; }
[[gnu::target("avx512f")]] inline bool any_large(__m512d x) {
  return _mm512_cmp_pd_mask(x, _mm512_set1_pd(kLarge<double>), _CMP_GT_OQ) != 0;
}
[[gnu::target("avx512f")]] inline bool any_large(__m512 x) {
  return _mm512_cmp_ps_mask(x, _mm512_set1_ps(kLarge<float>), _CMP_GT_OQ) != 0;
}

/// Replaces the affected lanes by the logarithm.
template <class V, class Log>
[[gnu::noinline]] void mend_log1p(const V& x, V& result, const Log& log) {
  for (unsigned lane = 0; lane < kLanes<V>; ++lane) {
    if (x[lane] > kLarge<Element<V>>) result[lane] = log(x[lane]);
  }
}

/// With AVX-512 the logarithm of a negative number is a nan that depends on the number.
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
#define TDSL_SCALAR(function, T, suffix, width)                                              \
  extern "C" T Sleef_finz_##function##width(T) noexcept;                                     \
  extern "C" T scalar_##function##suffix(T) noexcept __asm__("tdsl_" #function #suffix);     \
  T scalar_##function##suffix(T x) noexcept {                                                \
    if (!TDSL_HAS_SLEEF) return std::function(x);                                            \
    if (std::string_view(#function) == "log1p" && x > kLarge<T>) return tdsl_log##suffix(x); \
    return Sleef_finz_##function##width(x);                                                  \
  }
#define TDSL_VECTOR(function, T, suffix, V, processors, isa, width)                                     \
  extern "C" [[gnu::target(processors)]] V Sleef_finz_##function##width(V) noexcept;                    \
  extern "C" [[gnu::target(processors)]] V _ZGV##isa##v_tdsl_##function##suffix(V x) noexcept;          \
  V _ZGV##isa##v_tdsl_##function##suffix(V x) noexcept {                                                \
    if (#isa[0] < 'd' && !TDSL_HAS_SLEEF) return each_lane(x, [](T a) { return std::function(a); }), x; \
    V result = Sleef_finz_##function##width(x);                                                         \
    if constexpr (std::string_view(#function) == "log1p") {                                             \
      if (any_large(x)) [[unlikely]]                                                                    \
        mend_log1p(x, result, tdsl_log##suffix);                                                        \
    }                                                                                                   \
    if constexpr (std::string_view(#function) == "log" && #isa[0] == 'e') mend_nan(result);             \
    return result;                                                                                      \
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
#endif

#define TDSL_AVX2 "avx2,fma"
#define TDSL_AVX512 "avx512f,avx512dq,avx512bw,avx512vl,fma"
#define TDSL_FUNCTION(function)                                             \
  TDSL_SCALAR(function, double, , d1_u10purecfma)                           \
  TDSL_SCALAR(function, float, f, f1_u10purecfma)                           \
  TDSL_VECTOR(function, double, , __m128d, "sse2", bN2, d2_u10avx2128)      \
  TDSL_VECTOR(function, double, , __m256d, "avx", cN4, d4_u10avx2)          \
  TDSL_VECTOR(function, double, , __m256d, TDSL_AVX2, dN4, d4_u10avx2)      \
  TDSL_VECTOR(function, double, , __m512d, TDSL_AVX512, eN8, d8_u10avx512f) \
  TDSL_VECTOR(function, float, f, __m128, "sse2", bN4, f4_u10avx2128)       \
  TDSL_VECTOR(function, float, f, __m256, "avx", cN8, f8_u10avx2)           \
  TDSL_VECTOR(function, float, f, __m256, TDSL_AVX2, dN8, f8_u10avx2)       \
  TDSL_VECTOR(function, float, f, __m512, TDSL_AVX512, eN16, f16_u10avx512f)

TDSL_FUNCTION(exp)
TDSL_FUNCTION(log)
TDSL_FUNCTION(log1p)
TDSL_FUNCTION(expm1)
TDSL_FUNCTION(sin)
TDSL_FUNCTION(cos)
TDSL_FUNCTION(tan)
TDSL_FUNCTION(tanh)
TDSL_FUNCTION(erf)

#endif
