#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "runtime/kernels/scalar_math.h"

namespace s = tdsl::rt::scalar;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
constexpr T kLowest = std::numeric_limits<T>::lowest();
template <class T>
constexpr T kHighest = std::numeric_limits<T>::max();

/// Whether `f(faults)` sets exactly `bits`.
template <class F>
bool faults_with(std::uint32_t bits, F f) {
  s::Faults faults;
  f(faults);
  return faults.bits == bits;
}

}  // namespace

TEST_CASE_TEMPLATE("integers wrap", T, std::int32_t, std::int64_t) {
  CHECK(s::add(kHighest<T>, T{1}) == kLowest<T>);
  CHECK(s::subtract(kLowest<T>, T{1}) == kHighest<T>);
  CHECK(s::multiply(kHighest<T>, T{2}) == T{-2});
  CHECK(s::negate(kLowest<T>) == kLowest<T>);
  CHECK(s::abs(kLowest<T>) == kLowest<T>);
  CHECK(s::abs(T{-5}) == T{5});
  s::Faults faults;
  CHECK(s::divide(kLowest<T>, T{-1}, faults) == kLowest<T>);
  CHECK(s::remainder(kLowest<T>, T{-1}, faults) == 0);
  CHECK(s::mod(kLowest<T>, T{-1}, faults) == 0);
  CHECK_FALSE(faults.any());
}

TEST_CASE_TEMPLATE("integer division truncates, mod follows the divisor", T, std::int32_t, std::int64_t) {
  s::Faults faults;
  CHECK(s::divide(T{7}, T{2}, faults) == 3);
  CHECK(s::divide(T{-7}, T{2}, faults) == -3);
  CHECK(s::remainder(T{-7}, T{3}, faults) == -1);
  CHECK(s::remainder(T{7}, T{-3}, faults) == 1);
  CHECK(s::mod(T{-7}, T{3}, faults) == 2);
  CHECK(s::mod(T{7}, T{-3}, faults) == -2);
  CHECK(s::mod(T{6}, T{3}, faults) == 0);
  CHECK(s::mod(T{-1}, T{10}, faults) == 9);
  CHECK_FALSE(faults.any());
  CHECK(faults_with(s::Faults::kDivisionByZero, [](s::Faults& f) { (void)s::divide(T{1}, T{0}, f); }));
  CHECK(faults_with(s::Faults::kDivisionByZero, [](s::Faults& f) { (void)s::remainder(T{1}, T{0}, f); }));
  CHECK(faults_with(s::Faults::kDivisionByZero, [](s::Faults& f) { (void)s::mod(T{1}, T{0}, f); }));
}

TEST_CASE("float remainder and mod") {
  CHECK(s::remainder(-7.0, 3.0) == -1.0);
  CHECK(s::mod(-7.0, 3.0) == 2.0);
  CHECK(s::mod(7.0, -3.0) == -2.0);
  CHECK(s::mod(-1.0, kInf) == kInf);
  CHECK(std::signbit(s::mod(6.0, -3.0)));
  CHECK(std::isnan(s::mod(1.0, 0.0)));
  CHECK(s::divide(1.0, 0.0) == kInf);
}

TEST_CASE("powers") {
  s::Faults faults;
  CHECK(s::power(std::int64_t{3}, std::int64_t{4}, faults) == 81);
  CHECK(s::power(std::int64_t{-2}, std::int64_t{63}, faults) == kLowest<std::int64_t>);
  CHECK(s::power(std::int64_t{2}, std::int64_t{64}, faults) == 0);
  CHECK(s::power(std::int32_t{0}, std::int32_t{0}, faults) == 1);
  CHECK_FALSE(faults.any());
  CHECK(faults_with(s::Faults::kNegativeExponent, [](s::Faults& f) { (void)s::power(2, -1, f); }));
  CHECK(s::power(2.0, -1.0) == 0.5);
}

TEST_CASE("min and max propagate nan and keep the first of equals") {
  CHECK(std::isnan(s::min(kNan, 1.0)));
  CHECK(std::isnan(s::min(1.0, kNan)));
  CHECK(std::isnan(s::max(kNan, 1.0)));
  CHECK(std::isnan(s::max(1.0, kNan)));
  CHECK(s::min(2, 1) == 1);
  CHECK(s::max(2, 1) == 2);
  CHECK(s::max(false, true));
  CHECK_FALSE(s::min(true, false));
  CHECK(std::signbit(s::min(-0.0, 0.0)));
  CHECK_FALSE(std::signbit(s::max(0.0, -0.0)));
  CHECK(s::min(s::min_identity<double>(), 3.0) == 3.0);
  CHECK(s::max(s::max_identity<std::int32_t>(), kLowest<std::int32_t>) == kLowest<std::int32_t>);
  CHECK(s::min_identity<bool>());
  CHECK_FALSE(s::max_identity<bool>());
}

TEST_CASE("functions of one number") {
  CHECK(s::round(0.5) == 0.0);
  CHECK(s::round(1.5) == 2.0);
  CHECK(s::round(-2.5) == -2.0);
  CHECK(s::round(7) == 7);
  CHECK(s::floor(-0.5) == -1.0);
  CHECK(s::ceil(0.5F) == 1.0F);
  CHECK(s::sign(-3.5) == -1.0);
  CHECK(s::sign(std::int32_t{9}) == 1);
  CHECK(s::sign(0.0) == 0.0);
  CHECK(std::isnan(s::sign(kNan)));
  CHECK(s::isnan(kNan));
  CHECK_FALSE(s::isnan(3));
  CHECK(s::isinf(-kInf));
  CHECK_FALSE(s::isinf(kNan));
  CHECK(s::sigmoid(0.0) == 0.5);
  CHECK(s::sigmoid(-1000.0) == 0.0);
  CHECK(s::sigmoid(1000.0) == 1.0);
  CHECK(s::relu(-2) == 0);
  CHECK(s::relu(2.5) == 2.5);
  CHECK(std::isnan(s::relu(kNan)));
}

TEST_CASE("casts from float to integer truncate and report what does not fit") {
  s::Faults faults;
  CHECK(s::cast<std::int32_t>(-1.9, faults) == -1);
  CHECK(s::cast<std::int32_t>(2147483647.9, faults) == kHighest<std::int32_t>);
  CHECK(s::cast<std::int32_t>(-2147483648.9, faults) == kLowest<std::int32_t>);
  CHECK(s::cast<std::int64_t>(-0x1p63, faults) == kLowest<std::int64_t>);
  CHECK(s::cast<std::int64_t>(0x1.fffffep62F, faults) == 0x7fffff8000000000);
  CHECK_FALSE(faults.any());
  const auto bad = [](auto tag, auto value) {
    return faults_with(s::Faults::kCastDoesNotFit, [&](s::Faults& f) { (void)s::cast<decltype(tag)>(value, f); });
  };
  CHECK(bad(std::int32_t{}, 2147483648.0));
  CHECK(bad(std::int32_t{}, -2147483649.0));
  CHECK(bad(std::int32_t{}, 2147483648.0F));
  CHECK(bad(std::int32_t{}, kNan));
  CHECK(bad(std::int64_t{}, 0x1p63));
  CHECK(bad(std::int64_t{}, -0x1.0000000000001p63));
  CHECK(bad(std::int64_t{}, kInf));
}

TEST_CASE("the other casts") {
  CHECK(s::cast<std::int32_t>(std::int64_t{0x1'0000'0001}) == 1);
  CHECK(s::cast<double>(true) == 1.0);
  CHECK(s::cast<bool>(0.5));
  CHECK(s::cast<bool>(kNan));
  CHECK_FALSE(s::cast<bool>(0));
  CHECK(s::cast<float>(1e300) == std::numeric_limits<float>::infinity());
}

TEST_CASE("the most basic fault gives the message") {
  s::Faults a{s::Faults::kCastDoesNotFit}, b{s::Faults::kDivisionByZero};
  a.merge(b);
  CHECK(std::string(a.message()) == "integer division by zero [invalid-number]");
}
