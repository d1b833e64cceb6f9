#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/kernels/philox.h"

using namespace tdsl::rt;

TEST_CASE("philox4x32-10 gives the known answers of Random123") {
  using Words = std::array<std::uint32_t, 4>;
  constexpr std::uint32_t kOnes = 0xffffffff;
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a stream depends on seed, call site and every iteration number") {
  const std::array<std::int64_t, 2> ab{1, 2}, ba{2, 1};
  const std::array<std::int64_t, 1> zero{0};
  const std::vector<RandomStream> streams{random_stream(0, 0),      random_stream(1, 0),     random_stream(0, 1),
                                          random_stream(1, 1),      random_stream(0, 0, ab), random_stream(0, 0, ba),
                                          random_stream(0, 0, zero)};
  for (std::size_t i = 0; i < streams.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      CHECK(streams[i] != streams[j]);
      CHECK(uniform_f64(streams[i], 5) != uniform_f64(streams[j], 5));
    }
  }
}

TEST_CASE("uniform numbers lie in [0, 1) with the moments of the distribution") {
  const RandomStream stream = random_stream(7, 3);
  constexpr int kCount = 200000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = uniform_f64(stream, static_cast<std::uint64_t>(i));
    const float y = uniform_f32(stream, static_cast<std::uint64_t>(i));
    REQUIRE((x >= 0 && x < 1 && y >= 0 && y < 1));
    sum += x;
    squares += x * x;
  }
  CHECK(std::fabs(sum / kCount - 0.5) < 0.003);
  CHECK(std::fabs(squares / kCount - 1.0 / 3) < 0.003);
}

TEST_CASE("normal numbers have the moments of the distribution") {
  const RandomStream stream = random_stream(7, 4);
  constexpr int kCount = 200000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = normal_f64(stream, static_cast<std::uint64_t>(i));
    REQUIRE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  CHECK(std::fabs(sum / kCount) < 0.01);
  CHECK(std::fabs(squares / kCount - 1) < 0.02);
  CHECK(std::fabs(fourth / kCount - 3) < 0.15);
}

namespace {

/// Fills rows [lo, hi) and columns [lo2, hi2) of a 7 x 11 tensor stored with its columns contiguous.
template <class T, class Fill>
void fill_part(std::vector<T>& whole, std::array<std::int64_t, 2> lo, std::array<std::int64_t, 2> hi, Fill fill) {
  const std::array<std::int64_t, 2> strides{1, 7}, global{11, 1}, extents{hi[0] - lo[0], hi[1] - lo[1]};
  fill(RandomBlock<T>{whole.data() + lo[0] + 7 * lo[1], strides, lo, extents, global});
}

}  // namespace

TEST_CASE_TEMPLATE("blocks of a random tensor do not depend on how it is cut", T, float, double) {
  const RandomStream stream = random_stream(11, 2);
  for (const bool normal : {false, true}) {
    const auto fill = [&](const RandomBlock<T>& block) {
      normal ? fill_normal(stream, block) : fill_uniform(stream, block);
    };
    std::vector<T> cut(77, T{-100});
    fill_part<T>(cut, {0, 0}, {3, 11}, fill);
    fill_part<T>(cut, {3, 0}, {7, 4}, fill);
    fill_part<T>(cut, {3, 4}, {7, 11}, fill);
    fill_part<T>(cut, {3, 4}, {3, 11}, fill);  // empty
    for (std::int64_t i = 0; i < 7; ++i) {
      for (std::int64_t j = 0; j < 11; ++j) {
        const auto index = static_cast<std::uint64_t>(11 * i + j);
        const double expected = normal           ? normal_f64(stream, index)
                                : sizeof(T) == 8 ? uniform_f64(stream, index)
                                                 : static_cast<double>(uniform_f32(stream, index));
        CHECK(cut[static_cast<std::size_t>(i + 7 * j)] == static_cast<T>(expected));
      }
    }
  }
}

TEST_CASE("contiguous blocks and scalars are filled alike") {
  const RandomStream stream = random_stream(1, 1);
  std::vector<double> row(1000);
  const std::array<std::int64_t, 1> one{1}, lo{5}, n{1000};
  fill_uniform<double>(stream, {row.data(), one, lo, n, one});
  for (std::size_t i = 0; i < row.size(); ++i) { CHECK(row[i] == uniform_f64(stream, i + 5)); }
  double scalar = -1;
  fill_normal<double>(stream, {&scalar, {}, {}, {}, {}});
  CHECK(scalar == normal_f64(stream, 0));
}
