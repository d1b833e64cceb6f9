#include "runtime/kernels/blocked/blocked_reduction.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "runtime/kernels/scalar_math.h"

namespace tdsl::tests {

namespace {

using rt::Index;
using rt::Interval;
using rt::SimdLevel;

std::vector<SimdLevel> levels_here() {
  std::vector<SimdLevel> levels{SimdLevel::kBaseline};
  if (rt::simd_level() >= SimdLevel::kAvx2) levels.push_back(SimdLevel::kAvx2);
  if (rt::simd_level() >= SimdLevel::kAvx512) levels.push_back(SimdLevel::kAvx512);
  return levels;
}

/// Floats with zeros of both signs; one in `rarity` / 2 is nan or inf.
std::vector<double> special_values(std::mt19937& random, std::size_t count, unsigned rarity) {
  std::vector<double> values(count);
  for (double& x : values) {
    const auto pick = random() % rarity;
    x = pick == 0   ? std::nan("")
        : pick == 1 ? INFINITY
        : pick < 4  ? (pick == 2 ? 0.0 : -0.0)
                    : std::ldexp(static_cast<double>(random()), -31) - 1;
  }
  return values;
}

/// A vector without the special case for bool.
template <class T>
struct Elements {
  std::size_t count;
  std::unique_ptr<T[]> data = std::make_unique<T[]>(count);
  Elements(std::size_t n, T value) : count(n) { std::fill_n(data.get(), n, value); }
  T& operator[](Index i) const { return data[static_cast<std::size_t>(i)]; }
};

/// `numbers`: nullptr, or a replacement for `combine` in blocks without nan and inf.
template <class T, class Combine, class Numbers = std::nullptr_t>
void compare(Index m, Index n, Interval k, Interval l, T start, const Combine& combine,
             const Numbers& numbers = nullptr, unsigned rarity = 40) {
  std::mt19937 random(7);
  const Index points = k.size() * l.size();
  const auto a = special_values(random, static_cast<std::size_t>(m * points), rarity);
  const auto b = special_values(random, static_cast<std::size_t>(n * points), rarity);
  const auto point = [&](Index kk, Index ll) { return (kk - k.lo) * l.size() + ll - l.lo; };
  const auto x = [&](Index i, Index kk, Index ll) {
    return std::tuple(a[static_cast<std::size_t>(i * points + point(kk, ll))], static_cast<float>(kk));
  };
  const auto y = [&](Index j, Index kk, Index ll) {
    return std::tuple(b[static_cast<std::size_t>((j - 3) * points + point(kk, ll))]);
  };
  const Elements<T> expected(static_cast<std::size_t>(m * n), start);
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      T& total = expected[i * n + j];
      for (Index kk = k.lo; kk < k.hi; ++kk) {
        for (Index ll = l.lo; ll < l.hi; ++ll) {
          total = combine(total, std::get<0>(x(i, kk, ll)), std::get<1>(x(i, kk, ll)), std::get<0>(y(j + 3, kk, ll)));
        }
      }
    }
  }
  for (const SimdLevel level : levels_here()) {
    const Elements<T> c(static_cast<std::size_t>(m * n), start);
    rt::blocked_reduction<T>(
        Interval{0, m}, Interval{3, n + 3}, std::array{k, l}, x, y, combine,
        [&](Index i, Index j) -> T& { return c[i * n + j - 3]; }, level, numbers);
    Index wrong = 0;
    for (Index e = 0; e < m * n; ++e) {
      const bool both_nan = c[e] != c[e] && expected[e] != expected[e];
      wrong += !both_nan && std::memcmp(&c[e], &expected[e], sizeof(T)) != 0 ? 1 : 0;
    }
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(points);
    CAPTURE(static_cast<int>(level));
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("kernels: blocked reductions give the bits of the plain loops on every level, for all edges") {
  const auto min_plus = [](double total, double x, float k, double y) {
    return rt::scalar::least(total, x + y + static_cast<double>(k));
  };
  const auto distance = [](double total, double x, float, double y) { return total + (x - y) * (x - y); };
  const auto narrow = [](float total, double x, float k, double y) {
    return rt::scalar::max(total, static_cast<float>(x * y) - k);
  };
  const auto both = [](bool total, double x, float, double y) { return (x > 0.0 && y < 0.5) || total; };
  const auto count = [](std::int64_t total, double x, float, double y) {
    return rt::scalar::add<std::int64_t>(total, x < y ? 1 : 0);
  };
  for (const Index m : {1, 7, 8, 67}) {
    for (const Index n : {1, 15, 16, 33, 530}) {
      for (const Interval k : {Interval{2, 3}, Interval{0, 29}}) {
        const Interval l{-2, 5};
        compare<double>(m, n, k, l, INFINITY, min_plus);
        compare<double>(m, n, k, l, 0.0, distance);
        compare<float>(m, n, k, l, -INFINITY, narrow);
        compare<bool>(m, n, k, l, false, both);
        compare<std::int64_t>(m, n, k, l, 0, count);
      }
    }
  }
  compare<double>(5, 5, {0, 0}, {0, 4}, INFINITY, min_plus);
}

TEST_CASE(
    "kernels: blocks without nan and inf take the shorter function, with the same bits; sums of squares are fused on "
    "every level") {
  const auto min_plus = [](double total, double x, float k, double y) {
    return rt::scalar::least(total, x + y + static_cast<double>(k));
  };
  const auto least = [](double total, double x, float k, double y) {
    return rt::scalar::min_number(total, x + y + static_cast<double>(k));
  };
  const auto largest = [](float total, double x, float, double y) {
    return rt::scalar::greatest(total, static_cast<float>(x - y));
  };
  const auto largest_number = [](float total, double x, float, double y) {
    return rt::scalar::max_number(total, static_cast<float>(x - y));
  };
  const auto squares = [](double total, double x, float, double y) { return std::fma(x - y, x - y, total); };
  for (const unsigned rarity : {200U, 20'000U}) {
    compare<double>(67, 530, {0, 29}, {-2, 8}, INFINITY, min_plus, least, rarity);
    compare<double>(9, 17, {0, 29}, {-2, 8}, std::nan(""), min_plus, least, rarity);
    compare<float>(67, 50, {0, 29}, {-2, 8}, -INFINITY, largest, largest_number, rarity);
    compare<double>(67, 530, {0, 29}, {-2, 8}, 0.0, squares, nullptr, rarity);
  }
}

TEST_CASE(
    "kernels: blocked reductions of points between lines leave the others as they are, and skip blocks without "
    "points") {
  const auto x = [](Index i, Index k) { return static_cast<double>((i * 7 + k * 3) % 11) - 5; };
  const auto combine = [](double total, double x, double y) { return rt::scalar::least(total, x + y); };
  const auto numbers = [](double total, double x, double y) { return rt::scalar::min_number(total, x + y); };
  const auto compare_points = [&](Index m, Index n, Index slope, Index below, Index above) {
    const auto under = [=](Index i, Index j) { return j < slope * i + below; };
    const auto over = [=](Index i, Index j) { return j >= slope * i - above; };
    for (const SimdLevel level : levels_here()) {
      std::vector<char> packed(static_cast<std::size_t>(n), 0);
      const auto y = [&](Index j, Index k) {
        packed[static_cast<std::size_t>(j)] = 1;
        return static_cast<double>((j * 5 + k) % 13) - 6;
      };
      const Elements<double> c(static_cast<std::size_t>(m * n), -0.0);
      const auto element = [&](Index i, Index j) -> double& { return c[i * n + j]; };
      rt::blocked_reduction<double>(Interval{0, m}, Interval{0, n}, std::array{Interval{0, 300}}, x, y, combine,
                                    rt::blocked::Where(element, under, over), level, numbers);
      Index wrong = 0, needless = 0;
      for (Index first = 0; first < n; first += 16) {  // a vector of columns is packed at once
        bool used = false, filled = false;
        for (Index j = first; j < std::min(first + 16, n); ++j) {
          filled = filled || packed[static_cast<std::size_t>(j)] != 0;
          for (Index i = 0; i < m; ++i) {
            double expected = -0.0;
            const bool counts = under(i, j) && over(i, j);
            for (Index k = 0; k < 300 && counts; ++k)
              expected = rt::scalar::least(expected, x(i, k) + static_cast<double>((j * 5 + k) % 13) - 6);
            wrong += std::memcmp(&c[i * n + j], &expected, sizeof(double)) != 0 ? 1 : 0;
            used = used || counts;
          }
        }
        needless += filled && !used ? 1 : 0;
      }
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(slope);
      CHECK(wrong == 0);
      CHECK(needless == 0);
    }
  };
  for (const Index m : {1, 8, 67, 130}) {
    for (const Index n : {1, 33, 530}) {
      compare_points(m, n, 1, 1, 1000);   // the lower triangle
      compare_points(m, n, 1, 1000, 0);   // the upper one
      compare_points(m, n, 1, 4, 3);      // a band
      compare_points(m, n, -2, 100, 60);  // falling
      compare_points(m, n, 0, 0, 0);      // nothing
    }
  }
}

TEST_CASE("kernels: a nan or inf changes the function of its own block only") {
  const Index m = 24, n = 40;
  const auto x = [](Index i, Index k) { return std::tuple(i == 9 && k == 3 ? INFINITY : 1.0); };
  const auto y = [](Index j, Index k) { return std::tuple(j == 20 && k == 5 ? std::nan("") : 1.0); };
  const Elements<double> c(static_cast<std::size_t>(m * n), 0);
  rt::blocked_reduction<double>(
      Interval{0, m}, Interval{0, n}, std::array{Interval{0, 10}}, x, y,
      [](double total, double, double) { return total; }, [&](Index i, Index j) -> double& { return c[i * n + j]; },
      rt::simd_level(), [](double total, double, double) { return total + 1; });
  Index wrong = 0;
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) wrong += c[i * n + j] == (i / 8 == 1 || j / 16 == 1 ? 0 : 10) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

}  // namespace tdsl::tests
