#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/kernels/philox.h"

using namespace tdsl::rt;

TEST_CASE("keyed: the numbers of a key are fixed") {
  // From a second implementation, tests/e2e/twins/bootstrap.py.
  CHECK(scalar::keyed_uniform(1, 0) == 0.07740699187447853);
  CHECK(scalar::keyed_uniform(1, 2) == 0.6891892095387611);
  CHECK(scalar::keyed_uniform(-1, 1) == 0.2843905349128739);
  CHECK(std::fabs(scalar::keyed_normal(1, 1) + 1.2485442132881173) < 1e-14);
  CHECK(static_cast<std::uint64_t>(scalar::keyed_bits(1, 0)) == 1104831060982714149U);
  CHECK(static_cast<std::uint64_t>(scalar::keyed_bits(-5, std::int64_t{1} << 40)) == 14722411585102147754U);
}

TEST_CASE("keyed: integers below a count are the upper part of a product, or come from other bits") {
  CHECK(scalar::keyed_below(-1, 6) == 5);
  CHECK(scalar::keyed_below(3, 6) == 0);
  CHECK(scalar::keyed_below(7, 0) == 0);
  CHECK(scalar::keyed_below(-1, 1) == 0);
  // 2^63 + 1 numbers: 0 is rejected, 1 is not.
  constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::min() + 1;
  CHECK(scalar::keyed_below(0, kMany) == 8955919645141445295);
  CHECK(scalar::keyed_below(1, kMany) == 0);
  CHECK(static_cast<std::uint64_t>(scalar::keyed_below(-1, -1)) < std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("keyed: integers are uniform, neighboring keys and places are independent") {
  constexpr int kCount = 60000;
  std::array<int, 6> faces{};
  std::array<int, 36> pairs{};
  for (int i = 0; i < kCount; ++i) {
    const std::int64_t face = scalar::keyed_below(scalar::keyed_bits(7, i), 6);
    const std::int64_t other = scalar::keyed_below(scalar::keyed_bits(i, 7), 6);
    REQUIRE((face >= 0 && face < 6 && other >= 0 && other < 6));
    ++faces[static_cast<std::size_t>(face)];
    ++pairs[static_cast<std::size_t>(6 * face + other)];
  }
  const auto distance = [](const auto& counts) {
    double sum = 0;
    const double expected = static_cast<double>(kCount) / static_cast<double>(counts.size());
    for (const int n : counts) sum += (n - expected) * (n - expected) / expected;
    return sum;
  };
  CHECK(distance(faces) < 20.5);  // the upper 0.1 % of chi-square with 5 and with 35 degrees of freedom
  CHECK(distance(pairs) < 66.7);
}

TEST_CASE("keyed: functions have streams of their own") {
  double products = 0;
  for (int i = 0; i < 20000; ++i) products += (scalar::keyed_uniform(3, i) - 0.5) * scalar::keyed_normal(3, i);
  CHECK(std::fabs(products / 20000) < 0.01);
}
