#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "runtime/routines/small/in_tasks.h"

namespace tdsl::tests::small_routines {

namespace {

using rt::Index;
using rt::routines::SolveKind;
namespace matrices = rt::small;

template <class T>
using Matrix = rt::Local<T, 2>;

template <class T>
Matrix<T> random_matrix(std::mt19937& random, Index rows, Index columns) {
  std::normal_distribution<T> draw;
  Matrix<T> m({rows, columns});
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) m(i, j) = draw(random);
  }
  return m;
}

/// The largest element of A X - B, over the largest of X and 1. `reads`: whether element (i, j) of A counts.
template <class T, class Reads>
T residual(const Matrix<T>& a, const Matrix<T>& x, const Matrix<T>& b, const Reads& reads) {
  T largest = 0;
  T size = 1;
  for (Index i = 0; i < x.extent[0]; ++i) {
    for (Index j = 0; j < x.extent[1]; ++j) {
      T sum = -b(i, j);
      for (Index k = 0; k < x.extent[0]; ++k) sum += reads(i, k) ? a(i, k) * x(k, j) : T(0);
      largest = std::max(largest, std::abs(sum));
      size = std::max(size, std::abs(x(i, j)));
    }
  }
  return largest / size;
}

template <class T>
void check_all(std::mt19937& random, Index n) {
  const T tolerance = static_cast<T>(800 * (n + 1) * (n + 1)) * std::numeric_limits<T>::epsilon();
  const rt::SourceLine place{};
  const auto all = [](Index, Index) { return true; };
  Matrix<T> a = random_matrix<T>(random, n, n);
  for (Index i = 0; i < n; ++i) a(i, i) += a(i, i) < 0 ? T(-2) : T(2);
  const Matrix<T> b = random_matrix<T>(random, n, 2);
  Matrix<T> x({n, 2});
  matrices::solve(place, a, b, x);
  CHECK(residual(a, x, b, all) <= tolerance);
  matrices::solve(place, a, b, x, SolveKind::kLower);
  CHECK(residual(a, x, b, [](Index i, Index j) { return j <= i; }) <= tolerance);
  matrices::solve(place, a, b, x, SolveKind::kUpper);
  CHECK(residual(a, x, b, [](Index i, Index j) { return i <= j; }) <= tolerance);

  Matrix<T> s({n, n});  // A A' + 1
  Matrix<T> unit({n, n});
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      unit(i, j) = i == j ? T(1) : T(0);
      s(i, j) = unit(i, j);
      for (Index k = 0; k < n; ++k) s(i, j) += a(i, k) * a(j, k);
    }
  }
  matrices::solve(place, s, b, x, SolveKind::kPositive);
  CHECK(residual(s, x, b, all) <= tolerance);
  Matrix<T> inverse({n, n});
  matrices::inv(place, s, inverse);
  CHECK(residual(s, inverse, unit, all) <= tolerance);
  Matrix<T> l({n, n});
  matrices::cholesky(place, s, l);
  Matrix<T> v({n, n});
  rt::Local<T, 1> w({n});
  matrices::eigh(place, s, w, v);
  T product = 1;
  for (Index i = 0; i < n; ++i) {
    CHECK((i == 0 || w(i - 1) <= w(i)));
    product *= w(i);
    for (Index j = 0; j < n; ++j) {
      T square = 0, spectral = 0, identity = 0;
      for (Index k = 0; k < n; ++k) {
        square += l(i, k) * l(j, k);
        spectral += v(i, k) * w(k) * v(j, k);
        identity += v(k, i) * v(k, j);
      }
      CHECK(std::abs(square - s(i, j)) <= tolerance);
      CHECK(std::abs(spectral - s(i, j)) <= tolerance);
      CHECK(std::abs(identity - unit(i, j)) <= tolerance);
      CHECK((j <= i || l(i, j) == 0));
    }
  }
  CHECK(std::abs(matrices::det(s) / product - 1) <= tolerance);
}

}  // namespace

TEST_CASE("small routines: random matrices of every size up to 20") {
  std::mt19937 random(3);
  for (Index n = 0; n <= 20; ++n) {
    CAPTURE(n);
    check_all<double>(random, n);
    check_all<float>(random, n);
  }
}

TEST_CASE("small routines: of the lower triangle, with the sign of the largest component") {
  rt::Local<double, 2> a({2, 2});
  a(0, 0) = 2, a(0, 1) = 7, a(1, 0) = -1, a(1, 1) = 2;
  rt::Local<double, 1> w({2});
  matrices::eigh(rt::SourceLine{}, a, w, a);
  CHECK(std::abs(w(0) - 1) < 1e-15);
  CHECK(std::abs(w(1) - 3) < 1e-15);
  CHECK(a(0, 0) > 0);  // of equally large components the first is positive
  CHECK(a(0, 1) > 0);
}

TEST_CASE("small routines: results in place of operands") {
  rt::Local<double, 2> a({2, 2});
  a(0, 0) = 0, a(0, 1) = 2, a(1, 0) = 4, a(1, 1) = 1;
  rt::Local<double, 1> x({2});
  x(0) = 2, x(1) = 9;
  const rt::SourceLine place{};
  CHECK(matrices::det(a) == -8);
  matrices::solve(place, a, x, x);
  CHECK(x(0) == 2);
  CHECK(x(1) == 1);
  matrices::solve(place, a, a, a);
  CHECK(a(0, 0) == 1);
  CHECK(a(0, 1) == 0);
  CHECK(a(1, 0) == 0);
  CHECK(a(1, 1) == 1);
  a(1, 1) = 0;
  CHECK_THROWS_WITH_AS(matrices::inv(place, a, a), "inv: the matrix is singular [no-solution]", rt::RunError);
  CHECK_THROWS_AS(matrices::cholesky(place, a, a), rt::RunError);
  a(1, 1) = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(matrices::eigh(place, a, x, a), rt::RunError);
}

}  // namespace tdsl::tests::small_routines
