#include <doctest/doctest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "runtime/sparse/joint.h"
#include "tests/runtime/sparse/random.h"

// Joint iteration over several matrices, compared with naive maps.

using namespace tdsl::rt::sparse;
using namespace tdsl::tests;

namespace {

using Values = std::tuple<double, float, bool, std::int64_t>;
using Found = std::map<std::pair<Index, Index>, Values>;

template <class T>
T value_at(const NaiveMatrix<T>& m, std::pair<Index, Index> at) {
  const auto found = m.find(at);
  return found == m.end() ? T(0) : found->second;
}

/// The visited elements, with 0 for those not stored; checks that they ascend.
template <class Walk>
Found visited(const Walk& walk, Interval rows) {
  Found found;
  Index i = rows.lo - 1;
  walk.rows(rows, [&](const auto& row) {
    CHECK(row.index() > i);
    CHECK(row.index() < rows.hi);
    i = row.index();
    Index last = -1;
    const auto put = [&](Index j, auto... values) {
      CHECK(j > last);
      last = j;
      Values all{};
      const auto given = std::tuple(values...);
      std::get<0>(all) = std::get<0>(given);
      std::get<1>(all) = std::get<1>(given);
      if constexpr (sizeof...(values) > 2) std::get<2>(all) = std::get<2>(given);
      if constexpr (sizeof...(values) > 3) std::get<3>(all) = std::get<3>(given);
      found[{i, j}] = all;
    };
    row.each(put);
  });
  return found;
}

struct Matrices {
  Matrices(std::mt19937_64& random, Index rows, Index columns, const std::vector<double>& densities, int cuts)
      : a(random_matrix<double>(random, rows, columns, densities[0], cuts)),
        b(random_matrix<float>(random, rows, columns, densities[1], cuts)),
        c(random_matrix<bool>(random, rows, columns, densities[2], cuts)),
        d(random_matrix<std::int64_t>(random, rows, columns, densities[3], cuts)) {}
  TiledMatrix<double> a;
  TiledMatrix<float> b;
  TiledMatrix<bool> c;
  TiledMatrix<std::int64_t> d;
};

/// Checks that the iteration visits the elements of `needed`, with the values of the first `count` matrices, and
/// otherwise only zeros.
template <class Needed>
void check_visited(const Found& found, const Matrices& m, Interval rows, int count, const Needed& needed) {
  for (Index i = rows.lo; i < rows.hi; ++i) {
    for (Index j = 0; j < m.a.columns; ++j) {
      const std::pair at(i, j);
      Values values(value_at(m.a.naive, at), value_at(m.b.naive, at), count > 2 && value_at(m.c.naive, at),
                    count > 3 ? value_at(m.d.naive, at) : 0);
      const auto here = found.find(at);
      if (needed(values)) REQUIRE(here != found.end());
      if (here != found.end()) CHECK(here->second == values);
    }
  }
}

void check_joint(const Matrices& m, Interval rows) {
  const Parts<double, 2> a(m.a.parts);
  const Parts<float, 2> b(m.b.parts);
  const Parts<bool, 2> c(m.c.parts);
  const Parts<std::int64_t, 2> d(m.d.parts);
  const auto any = [](const Values& v) {
    return std::get<0>(v) != 0 || std::get<1>(v) != 0 || std::get<2>(v) || std::get<3>(v) != 0;
  };
  const auto first = [](const Values& v) { return std::get<0>(v) != 0; };
  const auto two = [](const Values& v) { return std::get<0>(v) != 0 && std::get<1>(v) != 0; };
  const auto three = [&](const Values& v) { return two(v) && std::get<2>(v); };
  const auto four = [&](const Values& v) { return three(v) && std::get<3>(v) != 0; };
  check_visited(visited(either(a, b), rows), m, rows, 2, any);
  check_visited(visited(either(a, b, c), rows), m, rows, 3, any);
  check_visited(visited(either(a, b, c, d), rows), m, rows, 4, any);
  check_visited(visited(both(a, b), rows), m, rows, 2, two);
  check_visited(visited(both(a, b, c), rows), m, rows, 3, three);
  check_visited(visited(both(a, b, c, d), rows), m, rows, 4, four);
  check_visited(visited(along(a, b), rows), m, rows, 2, first);
  check_visited(visited(along(a, b, c), rows), m, rows, 3, first);
  check_visited(visited(along(a, b, c, d), rows), m, rows, 4, first);
}

}  // namespace

TEST_CASE("sparse joint walks: unions, intersections and the elements of one operand, in every format and cut") {
  std::mt19937_64 random(31);
  const std::vector<double> densities = {0, 0.01, 0.2, 0.5, 1};
  for (int round = 0; round < 150; ++round) {
    const Index rows = static_cast<Index>(random() % 25), columns = static_cast<Index>(random() % 40);
    std::vector<double> chosen;
    for (int k = 0; k < 4; ++k) chosen.push_back(densities[random() % densities.size()]);
    const Matrices m(random, rows, columns, chosen, round % 2 == 0 ? 1 : 4);
    INFO("round " << round);
    check_joint(m, {0, rows});
    const auto lo = static_cast<Index>(random() % static_cast<unsigned>(rows + 1));
    check_joint(m, {lo, lo + static_cast<Index>(random() % static_cast<unsigned>(rows - lo + 1))});
  }
}

TEST_CASE("sparse joint walks: far columns are merged, near ones marked, with the same result") {
  // One of the two rows extends beyond the marked columns.
  constexpr Index kColumns = Index{1} << 24;
  NaiveMatrix<double> a;
  NaiveMatrix<float> b;
  std::mt19937_64 random(37);
  for (Index k = 0; k < 400; ++k) {
    const Index i = k % 4;
    const Index j = static_cast<Index>(random() % (i == 0 ? 50U : static_cast<unsigned>(kColumns)));
    a[{i, j}] = static_cast<double>(k + 1);
    if (k % 2 == 0) b[{i, k % 4 == 0 ? j : (j + 1) % kColumns}] = static_cast<float>(k + 1);
  }
  const auto ta = tiled(random, Index{4}, kColumns, a, 1);
  const auto tb = tiled(random, Index{4}, kColumns, b, 1);
  const Parts<double, 2> pa(ta.parts);
  const Parts<float, 2> pb(tb.parts);
  std::size_t common = 0;
  for (const auto& [at, value] : a) common += b.count(at);
  const Found in_both = visited(both(pa, pb), {0, 4}), in_first = visited(along(pa, pb), {0, 4}),
              in_either = visited(either(pa, pb), {0, 4});
  CHECK(in_both.size() == common);
  CHECK(in_first.size() == a.size());
  CHECK(in_either.size() == a.size() + b.size() - common);
  for (const Found* found : {&in_both, &in_first, &in_either}) {
    for (const auto& [at, values] : *found) CHECK(values == Values(value_at(a, at), value_at(b, at), false, 0));
  }
}

TEST_CASE("sparse joint walks: inf, nan and -0 arrive as they are, one walk inside of another") {
  const NaiveMatrix<double> a = {{{0, 1}, INFINITY}, {{0, 2}, -0.0}, {{1, 0}, 3.0}};
  const NaiveMatrix<float> b = {{{0, 2}, 5.0F}, {{0, 3}, NAN}, {{1, 0}, 1.0F}, {{1, 3}, 2.0F}};
  std::mt19937_64 random(41);
  const auto ta = tiled(random, 2, 4, a, 1);
  const auto tb = tiled(random, 2, 4, b, 1);
  const Parts<double, 2> pa(ta.parts);
  const Parts<float, 2> pb(tb.parts);
  std::vector<std::tuple<Index, double, float>> found;
  either(pa, pb).rows(
      {0, 1}, [&](const auto& row) { row.each([&](Index j, double x, float y) { found.emplace_back(j, x, y); }); });
  REQUIRE(found.size() == 3);
  CHECK(found[0] == std::tuple(Index{1}, HUGE_VAL, 0.0F));
  CHECK(std::signbit(std::get<1>(found[1])));
  CHECK(std::get<2>(found[1]) == 5.0F);
  CHECK(std::get<1>(found[2]) == 0.0);
  CHECK(!std::signbit(std::get<1>(found[2])));
  CHECK(std::isnan(std::get<2>(found[2])));
  // The outer row's marks persist while the inner one is iterated.
  int pairs = 0;
  along(pa, pb).rows({0, 2}, [&](const auto& outer) {
    outer.each([&](Index j, double, float y) {
      CHECK((std::isnan(y) || y == value_at(b, {outer.index(), j})));
      both(pb, pa).rows({0, 2}, [&](const auto& inner) { inner.each([&](Index, float, double) { ++pairs; }); });
    });
  });
  CHECK(pairs == 3 * 2);
}
