#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

// The cheapest partitionings of EinDecomp's matrix chain (A B) + (C (D E)) by the paper's costs, in elements, by
// exhaustive search.

namespace tdsl::tests::eindecomp_optima {

namespace {

/// Number of parts of the labels i, j, k of Z[i, k] = sum over j of X[i, j] Y[j, k], or of i, k.
using Parts = std::vector<int>;
struct Matrix {
  double rows, columns;
};

double block(const Matrix& m, int rows, int columns) { return m.rows / rows * m.columns / columns; }

double product(const Matrix& x, const Matrix& y, const Parts& d) {
  const double calls = d[0] * d[1] * d[2];
  return calls * (block(x, d[0], d[1]) + block(y, d[1], d[2])) +
         calls / d[1] * (d[1] - 1) * block({x.rows, y.columns}, d[0], d[2]);
}
double sum(const Matrix& x, const Parts& d) { return d[0] * d[1] * 2 * block(x, d[0], d[1]); }

double repartition(const Matrix& m, const Parts& made, const Parts& wanted) {
  const double np = block(m, made[0], made[1]), nc = block(m, wanted[0], wanted[1]), n = m.rows * m.columns;
  const double common =
      std::min(m.rows / made[0], m.rows / wanted[0]) * std::min(m.columns / made[1], m.columns / wanted[1]);
  return (nc / common - 1) * (n / nc) * (nc + np) + (np != common ? np * n / nc : 0);
}

/// All powers of two per label whose product is p.
std::vector<Parts> viable(std::size_t labels, int p) {
  if (labels == 0) return p == 1 ? std::vector<Parts>{{}} : std::vector<Parts>{};
  std::vector<Parts> all;
  for (int d = 1; d <= p; d *= 2) {
    for (Parts rest : viable(labels - 1, p / d)) {
      rest.insert(rest.begin(), d);
      all.push_back(rest);
    }
  }
  return all;
}

/// AB, DE, C(DE) and the sum.
using Choice = std::array<Parts, 4>;
struct Optima {
  double cost = 1e300;
  std::set<Choice> choices;
};

Optima cheapest(double s, double inner, double wide, int p) {
  const Matrix A{s, inner}, B{inner, s}, C{s, inner}, D{inner, wide}, E{wide, s}, square{s, s}, DE{inner, s};
  Optima best;
  for (const Parts& ab : viable(3, p)) {
    for (const Parts& de : viable(3, p)) {
      for (const Parts& cde : viable(3, p)) {
        for (const Parts& add : viable(2, p)) {
          double cost = product(A, B, ab) + product(D, E, de) + product(C, DE, cde) + sum(square, add);
          cost += repartition(square, {ab[0], ab[2]}, add) + repartition(square, {cde[0], cde[2]}, add);
          cost += repartition(DE, {de[0], de[2]}, {cde[1], cde[2]});
          if (cost < best.cost - 1e-6) best = {cost, {}};
          if (std::abs(cost - best.cost) <= 1e-6) best.choices.insert({ab, de, cde, add});
        }
      }
    }
  }
  return best;
}

}  // namespace

TEST_CASE("EinDecomp: which partitionings of the matrix chain are cheapest") {
  CHECK(viable(3, 8).size() == 10);
  CHECK(viable(6, 1024).size() == 3003);
  const Optima even = cheapest(40, 40, 40, 4);
  CHECK(even.cost == 14 * 1600);
  CHECK(even.choices == std::set<Choice>{{Parts{2, 1, 2}, Parts{1, 2, 2}, Parts{2, 1, 2}, Parts{2, 2}}});
  const Optima skewed = cheapest(40, 4, 400, 4);
  CHECK(skewed.cost == doctest::Approx(14.3 * 1600).epsilon(1e-12));
  CHECK(skewed.choices == std::set<Choice>{{Parts{2, 1, 2}, Parts{1, 4, 1}, Parts{2, 1, 2}, Parts{2, 2}},
                                           {Parts{4, 1, 1}, Parts{1, 4, 1}, Parts{4, 1, 1}, Parts{4, 1}}});
  CHECK(repartition({4, 40}, {1, 1}, {1, 2}) == doctest::Approx(0.2 * 1600));
  CHECK(cheapest(160, 160, 160, 2).cost == 11 * 25600);
  CHECK(cheapest(160, 16, 1600, 2).cost == doctest::Approx(13.7 * 25600).epsilon(1e-12));
}

}  // namespace tdsl::tests::eindecomp_optima
