#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/base/number_format.h"
#include "runtime/half.h"
#include "runtime/kernels/scalar_math.h"

using namespace tdsl::rt;

namespace {

template <class T>
T of_bits(int bits) {
  T value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}

/// The first number for which it does not hold that it is its own nearest one, and that a number halfway to the next
/// goes to the one whose last bit is 0; else `infinity`, the bits after the largest.
template <class T>
int first_wrong(int infinity) {
  for (int bits = 0; bits < infinity; ++bits) {
    const double number = static_cast<double>(of_bits<T>(bits));
    bool good =
        T(number).bits == bits && T(static_cast<float>(number)).bits == bits && T(-number).bits == bits + 0x8000;
    if (bits + 1 < infinity) {
      const double next = static_cast<double>(of_bits<T>(bits + 1));
      const double middle = (number + next) / 2;
      good = good && next > number && T(middle).bits == bits + bits % 2 &&
             T(std::nextafter(middle, 0.0)).bits == bits && T(std::nextafter(middle, next)).bits == bits + 1;
    }
    if (!good) return bits;
  }
  return infinity;
}

}  // namespace

TEST_CASE("floats of two bytes are the nearest ones") {
  CHECK(first_wrong<F16>(0x7c00) == 0x7c00);
  CHECK(first_wrong<Bf16>(0x7f80) == 0x7f80);
}

TEST_CASE("the ends of floats of two bytes") {
  CHECK(F16(65519.0) == 65504.0F);
  CHECK(std::isinf(static_cast<float>(F16(65520.0))));
  CHECK(F16(-std::numeric_limits<double>::infinity()).bits == 0xfc00);
  CHECK(F16(std::numeric_limits<std::int64_t>::max()).bits == 0x7c00);
  CHECK(F16(0x1p-25).bits == 0);
  CHECK(F16(0x1.8p-25).bits == 1);
  CHECK(std::isnan(static_cast<float>(F16(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isinf(static_cast<float>(Bf16(std::numeric_limits<double>::max()))));
  CHECK(Bf16(-0.0).bits == 0x8000);
  CHECK(std::isnan(static_cast<float>(Bf16(std::bit_cast<float>(std::uint32_t{0x7f800001})))));
}

TEST_CASE("casts of floats of two bytes") {
  scalar::Faults faults;
  CHECK(scalar::cast<std::int64_t>(F16(-2.5), faults) == -2);
  CHECK_FALSE(faults.any());
  CHECK(scalar::cast<bool>(F16(0.5)));
  CHECK(scalar::cast<std::int32_t>(Bf16(1e30), faults) == 0);
  CHECK(faults.any());
}

TEST_CASE("a float of two bytes is found by a maximum") {
  CHECK(scalar::max_identity<F16>().bits == 0xfc00);
  CHECK(scalar::min_identity<Bf16>().bits == 0x7f80);
  CHECK(scalar::greatest(scalar::max_identity<F16>(), F16(-0.0)).bits == 0x8000);
  CHECK(scalar::greatest(scalar::max_identity<F16>(), F16(std::numeric_limits<float>::quiet_NaN())).bits == 0x7e00);
  CHECK(scalar::least(F16(2.0), F16(-3.0)) == -3.0F);
}

TEST_CASE("texts of floats of two bytes are the shortest ones") {
  CHECK(format_scalar(F16(0.1)) == "0.1");
  CHECK(format_scalar(F16(65504.0)) == "65500.0");
  CHECK(format_scalar(F16(0x1p-24)) == "6e-08");
  CHECK(format_scalar(Bf16(3.14159)) == "3.14");
  CHECK(format_scalar(Bf16(-0.0)) == "-0.0");
  CHECK(format_scalar(F16(std::numeric_limits<double>::infinity())) == "inf");
}
