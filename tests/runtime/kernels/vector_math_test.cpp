#include "runtime/kernels/vector_math.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "runtime/kernels/lanes.h"
#include "runtime/kernels/simd_level.h"

namespace tdsl::tests::vector_math {

namespace {

using rt::Index;
using rt::Interval;
using rt::SimdLevel;
namespace math = rt::math;
namespace scalar = rt::scalar;

// A loop that calls the function, as in kernels.
#define TDSL_LOOP(function)                                                   \
  struct Loop_##function {                                                    \
    static constexpr const char* name = #function;                            \
    template <class T>                                                        \
    [[gnu::always_inline]] static inline T vectors(T x) {                     \
      return math::function(x);                                               \
    }                                                                         \
    template <class T>                                                        \
    static T library(T x) {                                                   \
      return scalar::function(x);                                             \
    }                                                                         \
    template <class T>                                                        \
    [[gnu::always_inline]] static void run(T* y, const T* x, Index n) {       \
      _Pragma("omp simd") for (Index i = 0; i < n; ++i) y[i] = vectors(x[i]); \
    }                                                                         \
  };
TDSL_LOOP(exp)
TDSL_LOOP(log)
TDSL_LOOP(log1p)
TDSL_LOOP(expm1)
TDSL_LOOP(sin)
TDSL_LOOP(cos)
TDSL_LOOP(tan)
TDSL_LOOP(tanh)
TDSL_LOOP(erf)
TDSL_LOOP(asin)
TDSL_LOOP(acos)
TDSL_LOOP(atan)
TDSL_LOOP(sinh)
TDSL_LOOP(cosh)
TDSL_LOOP(asinh)
TDSL_LOOP(acosh)
TDSL_LOOP(atanh)
TDSL_LOOP(cbrt)
TDSL_LOOP(log2)
TDSL_LOOP(log10)
TDSL_LOOP(exp2)
TDSL_LOOP(erfc)
TDSL_LOOP(sigmoid)
#undef TDSL_LOOP

/// Both branches of a select, one of which calls a function.
struct Chosen {
  template <class T>
  [[gnu::always_inline]] static void run(T* y, const T* x, Index n) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) y[i] = math::choose(x[i] > T{0}, math::log(x[i]), x[i] - T{1});
  }
};

/// A sum of function results.
struct Summed {
  template <class T>
  [[gnu::always_inline]] static void run(T* y, const T* x, Index n) {
    y[0] = rt::lanes::sum<T>(Interval{0, n}, [&](Index i) { return math::tanh(x[i]); });
  }
};

template <class Work, class T>
void run_at([[maybe_unused]] SimdLevel level, T* y, const T* x, Index n) {
#ifdef TDSL_HAS_SIMD_LEVELS
  if (level == SimdLevel::kAvx512) return rt::detail::with_avx512<Work>(y, x, n);
  if (level == SimdLevel::kAvx2) return rt::detail::with_avx2<Work>(y, x, n);
#endif
  Work::run(y, x, n);
}

/// Number of representable values between the two; equal magnitudes of different sign are far apart.
template <class T>
double distance(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b) ? 0 : std::numeric_limits<double>::infinity();
  const auto x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  if ((x < 0) != (y < 0))
    return a == b ? std::numeric_limits<double>::infinity()
                  : std::fabs(static_cast<double>(a - b)) / static_cast<double>(std::numeric_limits<T>::denorm_min());
  return std::fabs(static_cast<double>(x - y));
}

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> values;
  for (const T v : {T{0}, T{1}, T{0.5}, T{2}, L::infinity(), L::quiet_NaN(), L::max(), L::max() / 4, L::min(),
                    L::denorm_min(), L::epsilon(), T{1 << 30}, std::nextafter(T{1}, T{0}), T{1 << 20}}) {
    values.push_back(v);
    values.push_back(-v);
  }
  return values;
}

/// All magnitudes, and many where functions have high curvature.
template <class T>
std::vector<T> points(std::size_t count) {
  std::mt19937_64 random(7);
  std::vector<T> values = special_values<T>();
  while (values.size() < count) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    const T any = std::bit_cast<T>(static_cast<Bits>(random()));
    const T near = static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(random));
    for (const T v : {any, near, near * T{20}, near * T{sizeof(T) == 8 ? 750 : 105}}) values.push_back(v);
  }
  return values;
}

/// The largest result guaranteed by the vectorised forms (they may overflow before libm does).
template <class T>
constexpr T kCertain = std::numeric_limits<T>::max() * static_cast<T>(1 - 2e-6);

template <class Loop, class T>
void check_near_library(double most) {
  const std::vector<T> x = points<T>(100'000);
  std::vector<T> y(x.size());
  run_at<Loop>(rt::simd_level(), y.data(), x.data(), static_cast<Index>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T expected = Loop::library(x[i]);
    // 8 ulp for subnormal results.
    const double slack = std::fabs(expected) < 4 * std::numeric_limits<T>::min() ? 8 : most;
    const bool overflows = std::fabs(expected) > kCertain<T> && std::isfinite(x[i]) && std::fabs(y[i]) > kCertain<T>;
    // If its exponential overflows, sigmoid is zero.
    const bool vanishes = std::string(Loop::name) == "sigmoid" && y[i] == T{0} && expected * kCertain<T> <= T{1};
    if (!overflows && !vanishes && distance(expected, y[i]) > slack) {
      FAIL_CHECK(std::string(Loop::name) << "(" << x[i] << ") is " << y[i] << ", libm says " << expected);
      return;
    }
  }
}

/// All lengths and alignments at every SIMD level: the bits equal those of one element at a time.
template <class Work, class T>
void check_same_bits(const std::string& name) {
  const std::vector<T> x = points<T>(128);
  for (Index n = 0; n <= 70; ++n) {
    for (const Index shift : {0, 1, 3}) {
      std::vector<T> first(80, T{3});
      run_at<Work>(SimdLevel::kBaseline, first.data() + shift, x.data() + shift, n);
      for (const SimdLevel level : {SimdLevel::kAvx2, SimdLevel::kAvx512}) {
        if (level > rt::simd_level()) continue;
        std::vector<T> y(80, T{3});
        run_at<Work>(level, y.data() + shift, x.data() + shift, n);
        if (std::memcmp(y.data(), first.data(), y.size() * sizeof(T)) != 0) {
          FAIL_CHECK(name << " of " << n << " elements from " << shift << " on has other bits with "
                          << std::string(rt::name_of(level)));
          return;
        }
      }
    }
  }
}

template <class Loop>
void check_function(double most = 2) {
  check_near_library<Loop, double>(most);
  check_near_library<Loop, float>(most);
  check_same_bits<Loop, double>(Loop::name);
  check_same_bits<Loop, float>(Loop::name);
  for (const double x : points<double>(1000)) {
    double y = 0;
    Loop::run(&y, &x, 1);
    const double alone = Loop::vectors(x);
    CHECK(std::memcmp(&y, &alone, sizeof y) == 0);
  }
}

}  // namespace

TEST_CASE("vector math: every function is near libm's, and has the same bits with all vectors") {
  check_function<Loop_exp>();
  check_function<Loop_log>();
  check_function<Loop_log1p>();
  check_function<Loop_expm1>();
  check_function<Loop_sin>();
  check_function<Loop_cos>();
  check_function<Loop_tan>();
  check_function<Loop_tanh>();
  check_function<Loop_erf>();
  check_function<Loop_asin>();
  check_function<Loop_acos>();
  check_function<Loop_atan>();
  check_function<Loop_sinh>();
  check_function<Loop_cosh>();
  check_function<Loop_asinh>(4);
  check_function<Loop_acosh>();
  check_function<Loop_atanh>();
  check_function<Loop_cbrt>(4);
  check_function<Loop_log2>();
  check_function<Loop_log10>();
  check_function<Loop_exp2>();
  check_function<Loop_erfc>(4);
  check_function<Loop_sigmoid>(4);  // 2 for the exponential, an addition and a division
}

namespace {

/// Loops over pairs.
#define TDSL_PAIRS(function)                                                                       \
  struct Pairs_##function {                                                                        \
    template <class T>                                                                             \
    [[gnu::always_inline]] static void run(T* y, const T* x, Index n) {                            \
      _Pragma("omp simd") for (Index i = 0; i < n; ++i) y[i] = math::function(x[i], x[n - 1 - i]); \
    }                                                                                              \
  };
TDSL_PAIRS(atan2)
TDSL_PAIRS(hypot)
#undef TDSL_PAIRS

}  // namespace

TEST_CASE("vector math: functions of two numbers are near libm's, and have the same bits with all vectors") {
  check_same_bits<Pairs_atan2, double>("atan2");
  check_same_bits<Pairs_atan2, float>("atan2");
  check_same_bits<Pairs_hypot, double>("hypot");
  check_same_bits<Pairs_hypot, float>("hypot");
  const std::vector<double> x = points<double>(20'000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double y = x[x.size() - 1 - i];
    CHECK(distance(std::atan2(x[i], y), math::atan2(x[i], y)) <= 4);
    CHECK(distance(std::hypot(x[i], y), math::hypot(x[i], y)) <= 4);
  }
}

TEST_CASE("vector math: selects and sums have the same bits with all vectors") {
  check_same_bits<Chosen, double>("a select");
  check_same_bits<Chosen, float>("a select");
  check_same_bits<Summed, double>("a sum");
  check_same_bits<Summed, float>("a sum");
}

TEST_CASE("vector math: choose takes nan, infinities and signs of zeros as they are") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(math::choose(true, nan, 1.0)));
  CHECK(math::choose(false, nan, inf) == inf);
  CHECK(std::signbit(math::choose(true, -0.0, 0.0)));
  CHECK_FALSE(std::signbit(math::choose(false, -0.0F, 0.0F)));
}

}  // namespace tdsl::tests::vector_math
