#include "runtime/kernels/blocked/joins.h"
#include "runtime/kernels/blocked/positions.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
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

/// Positions of the best elements, compared with those of all elements, on every level. `special`: among 2 * special
/// values of x one is nan and one inf; 0: none.
template <class T, class Join>
void compare_positions(Index m, Index n, Index points, unsigned special, T start, const Join& join) {
  std::mt19937 random(static_cast<unsigned>(m + n + points));
  std::vector<T> a = small_numbers<T>(random, m * points);
  const std::vector<T> b = small_numbers<T>(random, n * points);
  for (T& v : a) {
    const unsigned pick = special == 0 ? 2 : static_cast<unsigned>(random() % (2 * special));
    if (pick < 2) v = pick == 0 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity();
  }
  const auto x = [&](Index i, Index k) { return a[static_cast<std::size_t>(i * points + k)]; };
  const auto y = [&](Index j, Index k) { return b[static_cast<std::size_t>((j - 4) * points + k)]; };
  for (const rt::Extreme which : {rt::Extreme::kLeast, rt::Extreme::kGreatest}) {
    std::vector<Index> expected(static_cast<std::size_t>(m), -1);
    for (Index i = 0; i < m; ++i) {
      T best{};
      Index& at = expected[static_cast<std::size_t>(i)];
      for (Index j = 4; j < n + 4; ++j) {
        T total = start;
        for (Index k = 0; k < points; ++k) total = join(total, x(i, k), y(j, k));
        const bool better = which == rt::Extreme::kLeast ? total < best : total > best;
        if (at >= 0 && (std::isnan(best) || !(better || std::isnan(total)))) continue;
        best = total;
        at = j;
      }
    }
    for (const SimdLevel level : levels()) {
      std::vector<Index> found(expected.size(), -7);
      rt::blocked_position<T>(
          which, Interval{0, m}, Interval{4, n + 4}, std::array{Interval{0, points}}, x, y, join, start,
          [&](Index i) -> Index& { return found[static_cast<std::size_t>(i)]; }, level);
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(points);
      CAPTURE(static_cast<int>(level));
      CHECK(found == expected);
    }
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

TEST_CASE("kernels: the positions of the best elements are those of the stored elements, with nan and inf") {
  const auto far = [](auto total, auto x, auto y) { return std::max(total, std::abs(x - y)); };
  for (const Index n : {0, 1, 7, 8, 9, 23, 24, 25, 100, 530}) {
    for (const Index points : {0, 1, 10, 256, 257}) {
      for (const unsigned special : {0U, 50U, 1000U}) {
        compare_positions<double>(19, n, points, special, 0.0, rt::joins::sum_of_squares<double>);
        compare_positions<float>(9, n, points, special, 0.0F, rt::joins::sum_of_distances<float>);
        compare_positions<double>(9, n, points, special, std::numeric_limits<double>::infinity(),
                                  rt::joins::min_of_sums<double>);
        compare_positions<double>(3, n, points, special, 0.0, far);
      }
    }
  }
}

}  // namespace tdsl::tests::named_joins
