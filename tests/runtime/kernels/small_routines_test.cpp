#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "runtime/routines/small/in_tasks.h"

namespace tdsl::tests::small_routines {

namespace {

using rt::Index;
namespace small = rt::small;

/// Row-major, with rows further apart than their elements.
template <class T>
struct Matrix {
  Matrix(Index rows, Index width) : n(width), lead(width + 3), elements(static_cast<std::size_t>(rows * lead)) {}
  T& operator()(Index i, Index j) { return elements[static_cast<std::size_t>(i * lead + j)]; }
  T operator()(Index i, Index j) const { return elements[static_cast<std::size_t>(i * lead + j)]; }

  Index n;
  Index lead;
  std::vector<T> elements;
};

template <class T>
Matrix<T> random_matrix(std::mt19937& random, Index rows, Index columns) {
  std::normal_distribution<T> draw;
  Matrix<T> m(rows, columns);
  for (T& x : m.elements) x = draw(random);
  return m;
}

/// The largest element of A X - B.
template <class T>
T residual(const Matrix<T>& a, const Matrix<T>& x, const Matrix<T>& b, Index n, Index columns) {
  T largest = 0;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < columns; ++j) {
      T sum = -b(i, j);
      for (Index k = 0; k < n; ++k) sum += a(i, k) * x(k, j);
      largest = std::max(largest, std::abs(sum));
    }
  }
  return largest;
}

template <class T>
void check_all(std::mt19937& random, Index n) {
  const T tolerance = static_cast<T>(200 * (n + 1)) * std::numeric_limits<T>::epsilon();
  const Matrix<T> a = random_matrix<T>(random, n, n);
  const Matrix<T> b = random_matrix<T>(random, n, 2);
  Matrix<T> f = a;
  Matrix<T> x = b;
  std::vector<Index> pivots(static_cast<std::size_t>(n));
  CHECK(small::lu(f.elements.data(), n, f.lead, pivots.data()));
  small::solve_factored(f.elements.data(), n, f.lead, pivots.data(), x.elements.data(), 2, x.lead);
  T size = 1;
  for (const T v : x.elements) size = std::max(size, std::abs(v));
  CHECK(residual(a, x, b, n, 2) <= tolerance * size);

  Matrix<T> s(n, n);  // A A' + 1
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      s(i, j) = i == j ? 1 : 0;
      for (Index k = 0; k < n; ++k) s(i, j) += a(i, k) * a(j, k);
    }
  }
  Matrix<T> l = s;
  CHECK(small::cholesky(l.elements.data(), n, l.lead));
  Matrix<T> v = s;
  std::vector<T> w(static_cast<std::size_t>(n));
  CHECK(small::eigh(v.elements.data(), n, v.lead, w.data()));
  CHECK(std::ranges::is_sorted(w));
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      T square = 0, spectral = 0, unit = 0;
      for (Index k = 0; k < n; ++k) {
        square += l(i, k) * l(j, k);
        spectral += v(i, k) * w[static_cast<std::size_t>(k)] * v(j, k);
        unit += v(k, i) * v(k, j);
      }
      const T scale = tolerance * static_cast<T>(n + 1) * 4;
      CHECK(std::abs(square - s(i, j)) <= scale);
      CHECK(std::abs(spectral - s(i, j)) <= scale);
      CHECK(std::abs(unit - (i == j ? 1 : 0)) <= scale);
      if (j > i) CHECK(l(i, j) == 0);
    }
  }
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

TEST_CASE("small routines: pivots, determinants, signs, failures") {
  std::vector<double> a{0, 2, 4, 1};
  std::vector<Index> pivots(2);
  CHECK(small::lu(a.data(), 2, 2, pivots.data()));
  CHECK(small::determinant(a.data(), 2, 2, pivots.data()) == -8);
  std::vector<double> singular{1, 2, 2, 4};
  CHECK(!small::lu(singular.data(), 2, 2, pivots.data()));
  CHECK(small::determinant(singular.data(), 2, 2, pivots.data()) == 0);
  std::vector<double> indefinite{1, 9, 2, 1};
  CHECK(!small::cholesky(indefinite.data(), 2, 2));
  std::vector<double> none{std::nan("")};
  CHECK(!small::cholesky(none.data(), 1, 1));
  std::vector<double> turned{2, 7, -1, 2};  // only the lower triangle counts
  std::vector<double> w(2);
  CHECK(small::eigh(turned.data(), 2, 2, w.data()));
  CHECK(std::abs(w[0] - 1) < 1e-15);
  CHECK(std::abs(w[1] - 3) < 1e-15);
  CHECK(turned[0] > 0);  // of equally large components the first is positive
  CHECK(turned[1] > 0);
}

TEST_CASE("small routines: results in place of operands") {
  rt::Local<double, 2> a({2, 2});
  a(0, 0) = 0, a(0, 1) = 2, a(1, 0) = 4, a(1, 1) = 1;
  rt::Local<double, 1> x({2});
  x(0) = 2, x(1) = 9;
  const rt::SourceLine place{};
  CHECK(small::det(a) == -8);
  small::solve(place, a, x, x);
  CHECK(x(0) == 2);
  CHECK(x(1) == 1);
  small::solve(place, a, a, a);
  CHECK(a(0, 0) == 1);
  CHECK(a(0, 1) == 0);
  CHECK(a(1, 0) == 0);
  CHECK(a(1, 1) == 1);
  a(1, 1) = 0;
  CHECK_THROWS_WITH_AS(small::inv(place, a, a), "inv: the matrix is singular [no-solution]", rt::RunError);
  CHECK_THROWS_AS(small::cholesky(place, a, a), rt::RunError);
  a(1, 1) = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(small::eigh(place, a, x, a), rt::RunError);
}

}  // namespace tdsl::tests::small_routines
