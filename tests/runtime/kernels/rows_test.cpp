#include "runtime/kernels/rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

namespace tdsl::tests::fused_rows {

namespace {

using rt::Index;
using rt::Interval;
using rt::SimdLevel;
namespace rows = rt::rows;

std::vector<SimdLevel> levels() {
  std::vector<SimdLevel> found{SimdLevel::kBaseline};
  if (rt::simd_level() >= SimdLevel::kAvx2) found.push_back(SimdLevel::kAvx2);
  if (rt::simd_level() >= SimdLevel::kAvx512) found.push_back(SimdLevel::kAvx512);
  return found;
}

template <class T>
std::vector<T> numbers(std::mt19937& random, Index count) {
  std::normal_distribution<T> draw;
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& v : values) v = draw(random);
  return values;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Dot products of `count` rows of n elements, and their scaled sum, at every SIMD level and two alignments; close to
/// the results in long double.
template <class T>
void check_rows(std::mt19937& random, Index n, Index count) {
  const Index stride = n + 3;
  std::vector<T> first_u, first_y;
  const std::vector<T> values = numbers<T>(random, stride * count + n + count);
  for (const Index shift : {Index{0}, Index{3}}) {
    std::vector<T> memory(values.size() + 3);
    std::copy(values.begin(), values.end(), memory.begin() + shift);
    const T* const x = memory.data() + shift;
    const T* const v = x + stride * count;
    const T* const w = v + n;
    for (const SimdLevel level : levels()) {
      std::vector<T> u(static_cast<std::size_t>(count)), y(static_cast<std::size_t>(n), T{1});
      rows::detail::dot(u.data(), x, stride, v, n, count, level);
      rows::detail::add_scaled(y.data(), x, stride, w, n, count, level);
      if (first_u.empty()) {
        first_u = u;
        first_y = y;
      }
      CHECK(same_bits(u, first_u));
      CHECK(same_bits(y, first_y));
    }
    for (Index r = 0; r < count; ++r) {
      long double total = 0, size = 0;
      for (Index k = 0; k < n; ++k) {
        total += static_cast<long double>(x[r * stride + k]) * v[k];
        size += std::fabs(static_cast<long double>(x[r * stride + k]) * v[k]);
      }
      CHECK(std::fabs(first_u[static_cast<std::size_t>(r)] - total) <=
            size * std::numeric_limits<T>::epsilon() * static_cast<T>(n));
    }
    for (Index k = 0; k < n; ++k) {
      T total{1};  // rows in order, one rounding each
      for (Index r = 0; r < count; ++r) total = std::fma(x[r * stride + k], w[r], total);
      CHECK(first_y[static_cast<std::size_t>(k)] == total);
    }
  }
}

}  // namespace

TEST_CASE("kernels: rows give the same bits with all vectors, at every length and place") {
  std::mt19937 random(5);
  for (const Index n : {1, 2, 3, 7, 8, 9, 10, 15, 16, 17, 23, 24, 31, 33, 64, 100, 129, 300}) {
    for (const Index count : {1, 3, 4, 8, 13}) {
      check_rows<double>(random, n, count);
      check_rows<float>(random, n, count);
    }
  }
}

TEST_CASE("kernels: blocks of rows hold every row once, and locals move with them") {
  for (const Index count : {0, 1, 7, 8, 9, 255, 256, 257, 1000}) {
    for (const Index bytes : {0, 8, 200, 100000, 300000, 1 << 30}) {
      rows::Local<Index, 2> local({3});
      std::vector<int> seen(static_cast<std::size_t>(count), 0);
      for (const Interval block : rows::Blocks(Interval{10, 10 + count}, rows::Work::kLines, bytes, local)) {
        CHECK(block.size() <= std::max<Index>(1, std::min<Index>(256, (1 << 20) / std::max<Index>(bytes, 1))));
        for (Index i = block.lo; i < block.hi; ++i) {
          for (Index j = 0; j < 3; ++j) local(i, j) = 3 * i + j;
        }
        rows::each(block, [&](Index i) { seen[static_cast<std::size_t>(i - 10)] += local(i, 2) == 3 * i + 2 ? 1 : 0; });
      }
      CHECK(std::accumulate(seen.begin(), seen.end(), Index{0}) == count);
    }
  }
}

TEST_CASE("kernels: a line is reduced through one tree, short ones in order") {
  for (const Index n : {0, 1, 5, 16, 17, 24, 100, 301}) {
    std::mt19937 random(static_cast<unsigned>(n));
    const std::vector<double> x = numbers<double>(random, n);
    const auto at = [&](Index j) { return x[static_cast<std::size_t>(j)]; };
    const auto sum = [](double a, double b) { return a + b; };
    const double total = rows::reduce<double>(Interval{0, n}, 0.0, sum, at);
    double expected = 0;
    if (n <= 16) {
      for (const double v : x) expected += v;
    } else {
      double part[8] = {};
      for (Index j = 0; j < n; ++j) part[j % 8] += at(j);
      expected = ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
    }
    CHECK(total == expected);
    double most = -std::numeric_limits<double>::infinity();
    for (const double v : x) most = std::max(most, v);
    CHECK(rows::reduce<double>(
              Interval{0, n}, -std::numeric_limits<double>::infinity(),
              [](double a, double b) { return std::max(a, b); }, at) == most);
  }
}

TEST_CASE("kernels: the upper part of a product of rows, mirrored, is the whole product") {
  std::mt19937 random(9);
  for (const Index d : {1, 5, 31, 32, 33, 64, 65, 255, 256, 300}) {
    const Index count = 17;
    const std::vector<double> x = numbers<double>(random, count * d);
    std::vector<double> whole(static_cast<std::size_t>(d * d), 1.0), upper = whole;
    const auto view = [d](auto& m) {
      return rt::View<std::remove_reference_t<decltype(m[0])>, 2>{m.data(), 0, {d, 1}};
    };
    const Interval columns{0, d};
    for (const Interval block : {Interval{0, 8}, Interval{8, count}}) {
      rows::add_product<double>(view(whole), view(x), block, view(x), columns, columns);
      rows::add_upper_product<double>(view(upper), view(x), block, view(x), columns, columns);
    }
    rows::mirror<double>(view(upper), columns);
    double difference = 0;
    bool symmetric = true;
    for (Index a = 0; a < d; ++a) {
      for (Index b = 0; b < d; ++b) {
        const auto at = [d](Index i, Index j) { return static_cast<std::size_t>(i * d + j); };
        difference = std::max(difference, std::abs(upper[at(a, b)] - whole[at(a, b)]));
        symmetric = symmetric && upper[at(a, b)] == upper[at(b, a)];
      }
    }
    CAPTURE(d);
    CHECK(difference < 1e-13);
    CHECK(symmetric);
  }
}

TEST_CASE("kernels: the position in a line is the first of the best, or of the first nan") {
  std::mt19937 random(3);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (Index n = 0; n < 70; ++n) {
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<double> x(static_cast<std::size_t>(n));
      for (double& v : x) v = static_cast<double>(random() % 7) - 3;
      for (int nans = trial % 4; nans > 1 && n > 0; --nans) x[random() % x.size()] = nan;
      const auto expected = [&](const auto& before) {
        Index best = n == 0 ? -1 : 0;
        for (Index j = 1; j < n; ++j) {
          const double now = x[static_cast<std::size_t>(j)], then = x[static_cast<std::size_t>(best)];
          if (!std::isnan(then) && (std::isnan(now) || before(now, then))) best = j;
        }
        return best < 0 ? best : best + 5;
      };
      const auto at = [&](Index j) { return x[static_cast<std::size_t>(j - 5)]; };
      CHECK(rows::arg_min<double>(Interval{5, n + 5}, at) == expected([](double a, double b) { return a < b; }));
      CHECK(rows::arg_max<double>(Interval{5, n + 5}, at) == expected([](double a, double b) { return a > b; }));
    }
  }
}

}  // namespace tdsl::tests::fused_rows
