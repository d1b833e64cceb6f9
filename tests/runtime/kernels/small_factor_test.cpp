#include "runtime/routines/small/factor.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace tdsl::tests {

namespace {

using plan::Index;
namespace matrices = rt::small;

constexpr int kLanes = 8;

std::vector<double> numbers(std::size_t count) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> between(-1, 1);
  std::vector<double> result(count);
  std::ranges::generate(result, [&] { return between(random); });
  return result;
}

/// The elements of lane `l`.
std::vector<double> lane(const std::vector<double>& all, int l) {
  std::vector<double> one;
  for (std::size_t k = static_cast<std::size_t>(l); k < all.size(); k += kLanes) one.push_back(all[k]);
  return one;
}

constexpr std::size_t size(Index n) { return static_cast<std::size_t>(n); }

template <int L>
std::vector<double> solved(std::vector<double> a, std::vector<double> b, Index n, Index columns) {
  std::vector<std::int32_t> pivots(size(n) * L);
  bool singular[L];
  matrices::lu<double, L>(a.data(), n, n, pivots.data(), singular);
  CHECK(std::none_of(singular, singular + L, [](bool s) { return s; }));
  matrices::exchange_rows<double, L>(b.data(), n, columns, columns, pivots.data());
  matrices::substitute<double, L>({.lower = true, .transposed = false, .unit = true}, a.data(), n, n, b.data(), columns,
                                  columns);
  matrices::substitute<double, L>({.lower = false}, a.data(), n, n, b.data(), columns, columns);
  return b;
}

}  // namespace

TEST_CASE("small matrices: a lane has the bits of a single matrix, which solve the equations") {
  const Index columns = 2;
  for (const Index n : {1, 2, 5, 8, 13}) {
    const std::vector<double> a = numbers(size(n * n) * kLanes);
    const std::vector<double> b = numbers(size(n * columns) * kLanes);
    const std::vector<double> x = solved<kLanes>(a, b, n, columns);
    for (int l = 0; l < kLanes; ++l) {
      const std::vector<double> matrix = lane(a, l), right = lane(b, l), own = lane(x, l);
      CHECK(own == solved<1>(matrix, right, n, columns));
      for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < columns; ++j) {
          double sum = 0;
          for (Index k = 0; k < n; ++k) sum += matrix[size(i * n + k)] * own[size(k * columns + j)];
          CHECK(std::fabs(sum - right[size(i * columns + j)]) < 1e-9);
        }
      }
    }
  }
}

TEST_CASE("small matrices: the Cholesky factor reads and writes the lower triangle") {
  const double nan = std::nan("");
  std::vector<double> a = {4, nan, 2, 5};
  bool positive = false;
  matrices::cholesky<double, 1>(a.data(), 2, 2, &positive);
  CHECK(positive);
  CHECK(a[0] == 2);
  CHECK(a[2] == 1);
  CHECK(a[3] == 2);
  std::vector<double> x = {2, 5};
  matrices::substitute<double, 1>({.lower = true}, a.data(), 2, 2, x.data(), 1, 1);
  CHECK(x == std::vector<double>{1, 2});
  matrices::substitute<double, 1>({.lower = true, .transposed = true}, a.data(), 2, 2, x.data(), 1, 1);
  CHECK(x == std::vector<double>{0, 1});
  std::vector<double> indefinite = {1, nan, 2, 1};
  matrices::cholesky<double, 1>(indefinite.data(), 2, 2, &positive);
  CHECK_FALSE(positive);
}

TEST_CASE("small matrices: determinants have the sign of the exchanges, and 0 for a singular matrix") {
  std::vector<double> a = {0, 2, 3, 1};
  std::int32_t pivots[2];
  bool singular = true;
  double value = 0;
  matrices::lu<double, 1>(a.data(), 2, 2, pivots, &singular);
  matrices::determinant<double, 1>(a.data(), 2, 2, pivots, &value);
  CHECK_FALSE(singular);
  CHECK(value == -6);
  std::vector<double> b = {0, 1, 0, 2};
  matrices::lu<double, 1>(b.data(), 2, 2, pivots, &singular);
  matrices::determinant<double, 1>(b.data(), 2, 2, pivots, &value);
  CHECK(singular);
  CHECK(value == 0);
}

}  // namespace tdsl::tests
