#include "runtime/kernels/blocked/joins.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace tdsl::tests::named_joins {

namespace {

using rt::Index;
using rt::Interval;
using rt::SimdLevel;

std::vector<SimdLevel> levels() {
  std::vector<SimdLevel> found{SimdLevel::kBaseline};
  if (rt::simd_level() >= SimdLevel::kAvx2) found.push_back(SimdLevel::kAvx2);
  if (rt::simd_level() >= SimdLevel::kAvx512) found.push_back(SimdLevel::kAvx512);
  return found;
}

/// Whole numbers from -8 to 8.
template <class T>
std::vector<T> small_numbers(std::mt19937& random, Index count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& v : values) v = static_cast<T>(static_cast<int>(random() % 17) - 8);
  return values;
}

/// A named join over m x n elements and `points` points, compared with the plain loops on every level.
template <class T, class Join>
void compare(Index m, Index n, Index points, T start, const Join& join) {
  std::mt19937 random(3);
  const std::vector<T> a = small_numbers<T>(random, m * points), b = small_numbers<T>(random, n * points);
  const auto x = [&](Index i, Index k) { return a[static_cast<std::size_t>(i * points + k)]; };
  const auto y = [&](Index j, Index k) { return b[static_cast<std::size_t>(j * points + k)]; };
  std::vector<T> expected(static_cast<std::size_t>(m * n), start);
  for (Index e = 0; e < m * n; ++e) {
    T& total = expected[static_cast<std::size_t>(e)];
    for (Index k = 0; k < points; ++k) total = join(total, x(e / n, k), y(e % n, k));
  }
  for (const SimdLevel level : levels()) {
    std::vector<T> c(expected.size(), start);
    rt::blocked_reduction<T>(
        Interval{0, m}, Interval{0, n}, std::array{Interval{0, points}}, x, y, join,
        [&](Index i, Index j) -> T& { return c[static_cast<std::size_t>(i * n + j)]; }, level);
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(points);
    CAPTURE(static_cast<int>(level));
    CHECK(std::memcmp(c.data(), expected.data(), c.size() * sizeof(T)) == 0);
  }
}

}  // namespace

TEST_CASE("kernels: named joins give the bits of the plain loops for tiles of every width") {
  for (const Index n : {1, 6, 7, 12, 13, 15, 16, 17, 23, 24, 25, 40, 41, 48, 49, 100, 530}) {
    for (const Index points : {1, 10, 300}) {
      compare<double>(9, n, points, 0.0, rt::joins::sum_of_squares<double>);
      compare<float>(9, n, points, 0.0F, rt::joins::sum_of_distances<float>);
      compare<double>(9, n, points, std::numeric_limits<double>::infinity(), rt::joins::min_of_sums<double>);
      compare<std::int32_t>(9, n, points, 0, rt::joins::sum_of_products<std::int32_t>);
    }
  }
}

}  // namespace tdsl::tests::named_joins
