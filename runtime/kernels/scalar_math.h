#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/complex_math.h"
#include "runtime/half.h"
#include "runtime/kernels/philox.h"

/// The language's scalar operations (language page, section 5), shared by generated kernels and the compiler's
/// evaluator. Operands have already been promoted to one type. complex_math.h has those on complex numbers.
///
/// Operations that can fail take a `Faults&`, set a bit in it and return some value. A kernel keeps one local `Faults`
/// for a whole block, which costs an `or` per element and lets loops vectorise, and reports it after its loops with the
/// statement's line.
namespace tdsl::rt::scalar {

/// Faults since the last check; sticky.
struct Faults {
  enum Bit : std::uint32_t {
    kDivisionByZero = 1,    ///< integer / % mod by 0
    kCastDoesNotFit = 2,    ///< float to integer out of range, or nan
    kNegativeExponent = 4,  ///< integer ** negative integer
    kBadSubscript = 8,      ///< an out-of-bounds subscript; the kernel knows which one
    kWrittenTwice = 16      ///< `=` wrote an element twice
  };
  std::uint32_t bits = 0;

  void set_if(bool condition, Bit bit) { bits |= condition ? static_cast<std::uint32_t>(bit) : 0U; }
  [[nodiscard]] bool any() const { return bits != 0; }
  void merge(Faults other) { bits |= other.bits; }

  /// The message of the lowest fault bit that is set.
  [[nodiscard]] const char* message() const {
    if ((bits & kDivisionByZero) != 0) return "integer division by zero [invalid-number]";
    if ((bits & kCastDoesNotFit) != 0)
      return "a float does not fit into the integer type it is cast to [invalid-number]";
    if ((bits & kNegativeExponent) != 0) return "an integer is raised to a negative integer power [invalid-number]";
    if ((bits & kBadSubscript) != 0) return "a subscript lies outside its dimension [out-of-bounds]";
    if ((bits & kWrittenTwice) != 0) return "an element is written twice by `=` [assertion]";
    return "no fault";
  }
};

/// Receives faults: `Faults` collects them, others may stop at once.
template <class F>
concept FaultSink = requires(std::remove_reference_t<F>& faults) {
  faults.set_if(true, Faults::kDivisionByZero);
};

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Real = std::same_as<T, float> || std::same_as<T, double>;
template <class T>
concept Number = Integer<T> || Real<T>;
template <class T>
concept Ordered = Number<T> || std::same_as<T, bool> || kIsHalf<T>;

namespace detail {
/// Unsigned arithmetic wraps, and that of types shorter than int is done in unsigned, not in int.
template <Integer T>
using Bits = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
template <Integer T>
inline constexpr int kBits = std::numeric_limits<std::make_unsigned_t<T>>::digits;

template <Integer T>
[[nodiscard]] constexpr Bits<T> bits_of(T x) {
  return static_cast<std::make_unsigned_t<T>>(x);
}
template <Integer T>
[[nodiscard]] constexpr bool is_negative(T x) {
  if constexpr (std::is_signed_v<T>) {
    return x < 0;
  } else {
    return false;
  }
}
template <Integer T>
[[nodiscard]] constexpr bool is_minus_one(T x) {
  if constexpr (std::is_signed_v<T>) {
    return x == -1;
  } else {
    return false;
  }
}
}  // namespace detail

// Arithmetic. Integers wrap.

template <Number T>
[[nodiscard]] constexpr T add(T a, T b) {
  if constexpr (Integer<T>) {
    return static_cast<T>(detail::bits_of(a) + detail::bits_of(b));
  } else {
    return a + b;
  }
}

template <Number T>
[[nodiscard]] constexpr T subtract(T a, T b) {
  if constexpr (Integer<T>) {
    return static_cast<T>(detail::bits_of(a) - detail::bits_of(b));
  } else {
    return a - b;
  }
}

template <Number T>
[[nodiscard]] constexpr T multiply(T a, T b) {
  if constexpr (Integer<T>) {
    return static_cast<T>(detail::bits_of(a) * detail::bits_of(b));
  } else {
    return a * b;
  }
}

template <Number T>
[[nodiscard]] constexpr T negate(T a) {
  if constexpr (Integer<T>) {
    return static_cast<T>(0U - detail::bits_of(a));
  } else {
    return -a;
  }
}

/// `/`: truncates for integers (the smallest integer divided by -1 wraps to itself).
template <Real T>
[[nodiscard]] constexpr T divide(T a, T b) {
  return a / b;
}
template <Integer T, FaultSink F>
[[nodiscard]] constexpr T divide(T a, T b, F&& faults) {
  faults.set_if(b == 0, Faults::kDivisionByZero);
  if (detail::is_minus_one(b)) return negate(a);
  return static_cast<T>(a / (b == 0 ? T{1} : b));
}

/// Products and quotients in which an absent factor or numerator, a 0, wins against inf and nan.
template <Real T>
[[nodiscard]] constexpr T absent_multiply(T a, T b) {
  return a == T{0} ? T{0} : a * b;
}
template <Real T>
[[nodiscard]] constexpr T mutual_multiply(T a, T b) {
  return a == T{0} || b == T{0} ? T{0} : a * b;
}
template <Real T>
[[nodiscard]] constexpr T absent_divide(T a, T b) {
  return a == T{0} ? T{0} : a / b;
}
template <Integer T, FaultSink F>
[[nodiscard]] constexpr T absent_divide(T a, T b, F&& faults) {
  return a == 0 ? T{0} : divide(a, b, faults);
}

/// `%`: C's for integers, fmod for floats: the sign of `a`.
template <Real T>
[[nodiscard]] inline T remainder(T a, T b) {
  return std::fmod(a, b);
}
template <Integer T, FaultSink F>
[[nodiscard]] constexpr T remainder(T a, T b, F&& faults) {
  // Subscripts rarely wrap around, and a division takes twenty times as long.
  if (!detail::is_negative(a) && a < b) return a;
  faults.set_if(b == 0, Faults::kDivisionByZero);
  return static_cast<T>(a % ((b == 0 || detail::is_minus_one(b)) ? T{1} : b));
}

/// `mod(a, b)`: the sign of `b`, as in Python. `mod(x, ±inf)` follows Python too.
template <Real T>
[[nodiscard]] inline T mod(T a, T b) {
  const T r = std::fmod(a, b);
  if (r == T{0}) return std::copysign(T{0}, b);
  return ((r < T{0}) != (b < T{0})) ? r + b : r;
}
template <Integer T, FaultSink F>
[[nodiscard]] constexpr T mod(T a, T b, F&& faults) {
  const T r = remainder(a, b, faults);
  return (r != 0 && detail::is_negative(r) != detail::is_negative(b)) ? static_cast<T>(r + b) : r;
}

/// The same for a `b` other than 0 and -1.
template <Integer T>
[[nodiscard]] constexpr T mod(T a, T b) {
  const T r = !detail::is_negative(a) && a < b ? a : static_cast<T>(a % b);
  return (r != 0 && detail::is_negative(r) != detail::is_negative(b)) ? static_cast<T>(r + b) : r;
}

/// The image of position `a` in 0 .. n - 1: the nearest element; mirrored at the first and last element; mirrored
/// between these and their neighbors outside; the remainder. With n = 0 the image lies outside, too.
template <Integer T>
[[nodiscard]] constexpr T edge(T a, T n) {
  return a < 0 ? T{0} : a < n ? a : static_cast<T>(n - 1);
}
template <Integer T>
[[nodiscard]] constexpr T reflect(T a, T n) {
  if (0 <= a && a < n) return a;
  if (n < 2) return T{0};
  const T r = mod(a, static_cast<T>(2 * (n - 1)));
  return r < n ? r : static_cast<T>(2 * (n - 1) - r);
}
template <Integer T>
[[nodiscard]] constexpr T symmetric(T a, T n) {
  if (0 <= a && a < n) return a;
  if (n < 1) return T{0};
  const T r = mod(a, static_cast<T>(2 * n));
  return r < n ? r : static_cast<T>(2 * n - 1 - r);
}
template <Integer T>
[[nodiscard]] constexpr T around(T a, T n) {
  return n < 1 ? T{0} : mod(a, n);
}

template <Number T>
[[nodiscard]] constexpr T square(T a) {
  return multiply(a, a);
}

/// `**` and `pow`. Integer powers wrap; a negative integer exponent of an integer is a fault, as in NumPy. Roots are
/// explicit: g++ turns `pow(a, 0.5)` in a loop into a square root, which differs for -inf and -0.
template <Real T>
[[nodiscard]] inline T power(T a, T b) {
  if (b == T(0.5))
    return a == -std::numeric_limits<T>::infinity() ? std::numeric_limits<T>::infinity() : std::sqrt(a + T(0));
  return std::pow(a, b);
}
template <Integer T, FaultSink F>
[[nodiscard]] constexpr T power(T a, T b, F&& faults) {
  faults.set_if(detail::is_negative(b), Faults::kNegativeExponent);
  T result = 1;
  for (auto e = detail::is_negative(b) ? detail::Bits<T>{0} : detail::bits_of(b); e != 0; e >>= 1) {
    if ((e & 1U) != 0) result = multiply(result, a);
    a = multiply(a, a);
  }
  return result;
}

// Bit operators. Counts of shifts outside 0 .. number of bits shift everything out.

template <class T>
requires Integer<T> || std::same_as<T, bool>
[[nodiscard]] constexpr T bit_and(T a, T b) { return static_cast<T>(a & b); }
template <class T>
requires Integer<T> || std::same_as<T, bool>
[[nodiscard]] constexpr T bit_or(T a, T b) { return static_cast<T>(a | b); }
template <class T>
requires Integer<T> || std::same_as<T, bool>
[[nodiscard]] constexpr T bit_xor(T a, T b) { return static_cast<T>(a ^ b); }
template <Integer T>
[[nodiscard]] constexpr T bit_not(T a) {
  return static_cast<T>(~a);
}
template <Integer T>
[[nodiscard]] constexpr T shift_left(T a, T count) {
  const bool inside = !detail::is_negative(count) && detail::bits_of(count) < unsigned{detail::kBits<T>};
  return inside ? static_cast<T>(detail::bits_of(a) << detail::bits_of(count)) : T{0};
}
/// Copies the sign of signed types.
template <Integer T>
[[nodiscard]] constexpr T shift_right(T a, T count) {
  const bool inside = !detail::is_negative(count) && detail::bits_of(count) < unsigned{detail::kBits<T>};
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(a >> (inside ? static_cast<int>(count) : detail::kBits<T> - 1));
  } else {
    return inside ? static_cast<T>(a >> count) : T{0};
  }
}
/// The number of bits that are 1.
template <Integer T>
[[nodiscard]] constexpr std::int64_t popcount(T a) {
  return std::popcount(static_cast<std::make_unsigned_t<T>>(a));
}

// Element-wise comparisons. Comparing with nan is false except for `!=`.

template <class T>
[[nodiscard]] constexpr bool equal(T a, T b) {
  return a == b;
}
template <class T>
[[nodiscard]] constexpr bool not_equal(T a, T b) {
  return a != b;
}
template <class T>
[[nodiscard]] constexpr bool less(T a, T b) {
  return a < b;
}
template <class T>
[[nodiscard]] constexpr bool less_equal(T a, T b) {
  return a <= b;
}
template <class T>
[[nodiscard]] constexpr bool greater(T a, T b) {
  return a > b;
}
template <class T>
[[nodiscard]] constexpr bool greater_equal(T a, T b) {
  return a >= b;
}

/// `min` and `max` propagate nan; for equal values (-0.0 and 0.0) they return the first. Written so that compilers
/// recognise the processor's minimum instruction in the first line.
template <Ordered T>
[[nodiscard]] constexpr T min(T a, T b) {
  const T smaller = b < a ? b : a;
  return b != b ? b : smaller;
}
template <Ordered T>
[[nodiscard]] constexpr T max(T a, T b) {
  const T larger = a < b ? b : a;
  return b != b ? b : larger;
}

/// The same for a `b` that is not nan: one instruction.
template <class T>
requires Number<T>
[[nodiscard]] constexpr T min_number(T a, T b) { return b < a ? b : a; }
template <class T>
requires Number<T>
[[nodiscard]] constexpr T max_number(T a, T b) { return a < b ? b : a; }

/// 0.0 for -0.0, else x; of complex numbers both parts.
template <class T>
[[nodiscard]] constexpr T positive_zero(T x) {
  if constexpr (Real<T> || kIsComplex<T>) {
    return x + T{0};
  } else {
    return x;
  }
}
/// A running minimum or maximum and the next value `b`: a zero `b` counts as 0.0, so that the result for zeros of both
/// signs does not depend on the order.
template <Ordered T>
[[nodiscard]] constexpr T least(T a, T b) {
  return min(a, positive_zero(b));
}
template <Ordered T>
[[nodiscard]] constexpr T greatest(T a, T b) {
  return max(a, positive_zero(b));
}

/// Identities of the reductions: `min` of an empty set is the largest value (inf), `max` the smallest (-inf).
template <class T>
[[nodiscard]] constexpr T min_identity() {
  if constexpr (kIsHalf<T>) {
    return min_identity<float>();
  } else if constexpr (Real<T>) {
    return std::numeric_limits<T>::infinity();
  } else {
    return std::numeric_limits<T>::max();
  }
}
template <class T>
[[nodiscard]] constexpr T max_identity() {
  if constexpr (kIsHalf<T>) {
    return max_identity<float>();
  } else if constexpr (Real<T>) {
    return -std::numeric_limits<T>::infinity();
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

// Functions of one number.

template <Number T>
[[nodiscard]] inline T abs(T a) {
  if constexpr (Integer<T>) {
    return detail::is_negative(a) ? negate(a) : a;
  } else {
    return std::fabs(a);
  }
}

/// -1, 0 or 1; nan for nan.
template <Number T>
[[nodiscard]] constexpr T sign(T a) {
  if constexpr (std::is_unsigned_v<T>) {
    return static_cast<T>(a != T{0});
  } else {
    if constexpr (Real<T>) {
      if (a != a) return a;
    }
    return static_cast<T>(static_cast<int>(a > T{0}) - static_cast<int>(a < T{0}));
  }
}

template <Number T>
[[nodiscard]] inline T floor(T a) {
  if constexpr (Integer<T>) {
    return a;
  } else {
    return std::floor(a);
  }
}
template <Number T>
[[nodiscard]] inline T ceil(T a) {
  if constexpr (Integer<T>) {
    return a;
  } else {
    return std::ceil(a);
  }
}
/// Towards zero.
template <Number T>
[[nodiscard]] inline T trunc(T a) {
  if constexpr (Integer<T>) {
    return a;
  } else {
    return std::trunc(a);
  }
}
/// Halves round to even. Relies on the default rounding mode, which is never changed.
template <Number T>
[[nodiscard]] inline T round(T a) {
  if constexpr (Integer<T>) {
    return a;
  } else {
    return std::nearbyint(a);
  }
}

template <Number T>
[[nodiscard]] constexpr bool isnan(T a) {
  return a != a;
}
template <Number T>
[[nodiscard]] constexpr bool isinf(T a) {
  if constexpr (Integer<T>) {
    return false;
  } else {
    return a == std::numeric_limits<T>::infinity() || a == -std::numeric_limits<T>::infinity();
  }
}

#define TDSL_REAL_FUNCTION(name)     \
  template <Real T>                  \
  [[nodiscard]] inline T name(T a) { \
    return std::name(a);             \
  }
TDSL_REAL_FUNCTION(sqrt)
TDSL_REAL_FUNCTION(exp)
TDSL_REAL_FUNCTION(log)
TDSL_REAL_FUNCTION(log1p)
TDSL_REAL_FUNCTION(expm1)
TDSL_REAL_FUNCTION(sin)
TDSL_REAL_FUNCTION(cos)
TDSL_REAL_FUNCTION(tan)
TDSL_REAL_FUNCTION(tanh)
TDSL_REAL_FUNCTION(erf)
TDSL_REAL_FUNCTION(asin)
TDSL_REAL_FUNCTION(acos)
TDSL_REAL_FUNCTION(atan)
TDSL_REAL_FUNCTION(sinh)
TDSL_REAL_FUNCTION(cosh)
TDSL_REAL_FUNCTION(asinh)
TDSL_REAL_FUNCTION(acosh)
TDSL_REAL_FUNCTION(atanh)
TDSL_REAL_FUNCTION(cbrt)
TDSL_REAL_FUNCTION(log2)
TDSL_REAL_FUNCTION(log10)
TDSL_REAL_FUNCTION(exp2)
TDSL_REAL_FUNCTION(erfc)
#undef TDSL_REAL_FUNCTION

/// The gamma function: C's tgamma.
template <Real T>
[[nodiscard]] inline T gamma(T a) {
  return std::tgamma(a);
}
/// The logarithm of the absolute value of gamma. (std::lgamma would write a global variable.)
template <Real T>
[[nodiscard]] inline T lgamma(T a) {
  int sign = 0;
  if constexpr (sizeof(T) == sizeof(double)) {
    return ::lgamma_r(a, &sign);
  } else {
    return ::lgammaf_r(a, &sign);
  }
}
/// The derivative of lgamma; nan at the poles -1, -2, …, and of -inf; -inf at 0.0, inf at -0.0.
template <Real T>
[[nodiscard]] inline T digamma(T a) {
  constexpr double kPi = 3.141592653589793;
  double x = static_cast<double>(a);
  if (x == 0) return static_cast<T>(-1.0 / x);
  if (x == -std::numeric_limits<double>::infinity()) return std::numeric_limits<T>::quiet_NaN();
  double result = 0;
  if (x < 0) {
    const double part = x - std::nearbyint(x);
    if (part == 0) return std::numeric_limits<T>::quiet_NaN();
    result = -kPi / std::tan(kPi * part);
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  const double s = 1 / (x * x);
  const double series =
      s *
      (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760 - s / 12))))));
  return static_cast<T>(result + std::log(x) - 0.5 / x - series);
}

/// The angle of the point (x, y).
template <Real T>
[[nodiscard]] inline T atan2(T y, T x) {
  return std::atan2(y, x);
}
template <Real T>
[[nodiscard]] inline T hypot(T a, T b) {
  return std::hypot(a, b);
}
/// The absolute value of `a` with the sign of `b`.
template <Real T>
[[nodiscard]] inline T copysign(T a, T b) {
  return std::copysign(a, b);
}

/// 1 / (1 + exp(-a)), without overflow to nan and accurate in the tail.
template <Real T>
[[nodiscard]] inline T sigmoid(T a) {
  return T{1} / (T{1} + std::exp(-a));
}
/// max(a, 0); nan for nan.
template <Number T>
[[nodiscard]] constexpr T relu(T a) {
  if constexpr (std::is_unsigned_v<T>) {
    return a;
  } else {
    return a < T{0} ? T{0} : a;
  }
}

// Casts.

/// True if truncating `a` gives a value of `To`.
template <Integer To, Real From>
[[nodiscard]] constexpr bool fits(From a) {
  constexpr int kDigits = std::numeric_limits<To>::digits;
  constexpr From kBeyond = static_cast<From>(To{1} << (kDigits - 1)) * From{2};
  if constexpr (std::is_unsigned_v<To>) {
    return a > From{-1} && a < kBeyond;
  } else if constexpr (kDigits < std::numeric_limits<From>::digits) {
    return a > -kBeyond - From{1} && a < kBeyond;  // truncation can reach the smallest number
  } else {
    return a >= -kBeyond && a < kBeyond;
  }
}

/// `bool(x)`, `u8(x)`, `i64(x)`, `f32(x)`, `f64(x)`. Float to integer truncates; out of range it is a fault (and 0).
/// Integer to integer wraps; to bool is `x != 0` (nan is true); from bool 0 or 1; f64 to f32 rounds.
template <class To, class From, FaultSink F>
[[nodiscard]] constexpr To cast(From a, F&& faults) {
  if constexpr (kIsHalf<From>) {
    return cast<To>(static_cast<float>(a), faults);
  } else if constexpr (std::same_as<To, bool>) {
    return a != From{0};
  } else if constexpr (Integer<To> && Real<From>) {
    const bool good = fits<To>(a);
    faults.set_if(!good, Faults::kCastDoesNotFit);
    return good ? static_cast<To>(a) : To{0};
  } else {
    return static_cast<To>(a);
  }
}
/// The casts that cannot fail.
template <class To, class From>
requires(!(Integer<To> && Real<From>)) [[nodiscard]] constexpr To cast(From a) {
  Faults none;
  return cast<To>(a, none);
}

}  // namespace tdsl::rt::scalar
