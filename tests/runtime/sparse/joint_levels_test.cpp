#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "runtime/sparse/joint_levels.h"
#include "tests/runtime/sparse/random.h"

// Joint iteration over vectors and tensors of rank three and more, compared with naive maps.

using namespace tdsl::rt::sparse;
using namespace tdsl::tests;

namespace {

template <int R>
using LevelAt = std::array<Index, R>;

/// A tensor cut into tiles along every dimension.
template <class T, int R>
struct TiledTensor {
  std::map<LevelAt<R>, T> naive;
  std::vector<BlockMemory> memory;
  std::vector<Part> parts;

  [[nodiscard]] T value(const LevelAt<R>& at) const {
    const auto found = naive.find(at);
    return found == naive.end() ? T(0) : found->second;
  }
};

template <class T, int R>
void add_tile(TiledTensor<T, R>& t, const Box& box, std::mt19937_64& random) {
  std::vector<std::uint32_t> at;
  std::vector<Index> extents;
  std::unique_ptr<T[]> values(new T[t.naive.size() + 1]);
  std::size_t count = 0;
  for (int d = 0; d < R; ++d) extents.push_back(box[d].size());
  for (const auto& [place, value] : t.naive) {
    bool inside = true;
    for (int d = 0; d < R; ++d)
      inside =
          inside && box[d].lo <= place[static_cast<std::size_t>(d)] && place[static_cast<std::size_t>(d)] < box[d].hi;
    if (!inside) continue;
    for (int d = 0; d < R; ++d)
      at.push_back(static_cast<std::uint32_t>(place[static_cast<std::size_t>(d)] - box[d].lo));
    values[count++] = value;
  }
  std::vector<Level> kinds;
  for (int d = 0; d < R; ++d) kinds.push_back(random() % 3 == 0 ? Level::kDense : Level::kCompressed);
  t.memory.push_back(
      build(SortedEntries<T>{extents, at, {values.get(), std::is_same_v<T, bool> ? 0 : count}}, kinds, true));
  t.parts.push_back({head_in(t.memory.back()), box, box[0]});
}

template <class T, int R>
TiledTensor<T, R> random_tensor(std::mt19937_64& random, const LevelAt<R>& extents, double density, int most_cuts) {
  TiledTensor<T, R> t;
  std::vector<std::vector<Index>> cuts;
  Index points = 1;
  for (const Index extent : extents) {
    cuts.push_back(random_cuts(random, extent, most_cuts));
    points *= extent;
  }
  for (Index k = 0; k < points; ++k) {
    LevelAt<R> at;
    Index rest = k;
    for (std::size_t d = R; d-- > 0; rest /= extents[d]) at[d] = rest % extents[d];
    if (std::uniform_real_distribution<>(0, 1)(random) < density) t.naive[at] = random_value<T>(random);
  }
  std::vector<std::size_t> tile(R, 0);
  const auto next = [&] {
    for (std::size_t d = R; d-- > 0;) {
      if (++tile[d] + 1 < cuts[d].size()) return true;
      tile[d] = 0;
    }
    return false;
  };
  if (points == 0) return t;
  do {
    Box box;
    box.rank = R;
    for (std::size_t d = 0; d < R; ++d) box.dim[d] = {cuts[d][tile[d]], cuts[d][tile[d] + 1]};
    add_tile(t, box, random);
  } while (next());
  std::ranges::shuffle(t.parts, random);
  return t;
}

using LevelValues = std::tuple<double, float, bool>;
template <int R>
using LevelFound = std::vector<std::pair<LevelAt<R>, LevelValues>>;

template <class... T>
LevelValues values_of(T... given) {
  LevelValues all{};
  [&]<std::size_t... k>(std::index_sequence<k...>) { ((std::get<k>(all) = given), ...); }
  (std::index_sequence_for<T...>());
  return all;
}

template <class Walk>
LevelFound<1> visited_levels(const Walk& walk, Interval range, std::integral_constant<int, 1>) {
  LevelFound<1> found;
  walk.each(range, [&](Index i, auto... values) { found.emplace_back(LevelAt<1>{i}, values_of(values...)); });
  return found;
}
template <class Walk>
LevelFound<3> visited_levels(const Walk& walk, Interval range, std::integral_constant<int, 3>) {
  LevelFound<3> found;
  walk.walk(range, [&](const auto& row) {
    row.walk([&](const auto& fibre) {
      fibre.each([&](Index k, auto... values) {
        found.emplace_back(LevelAt<3>{row.index(), fibre.index(), k}, values_of(values...));
      });
    });
  });
  return found;
}

template <int R>
struct Tensors {
  TiledTensor<double, R> a;
  TiledTensor<float, R> b;
  TiledTensor<bool, R> c;

  [[nodiscard]] LevelValues at(const LevelAt<R>& x, int count) const {
    return {a.value(x), b.value(x), count > 2 && c.value(x)};
  }
};

/// Checks that the iteration visits the elements of `needed` in order, with the values of the first `count` tensors,
/// and otherwise only zeros.
template <int R, class Needed>
void check(const LevelFound<R>& found, const Tensors<R>& t, Interval range, int count, const Needed& needed) {
  std::map<LevelAt<R>, LevelValues> by_place;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const auto& [at, values] = found[k];
    if (k > 0) CHECK(found[k - 1].first < at);
    CHECK((range.lo <= at[0] && at[0] < range.hi));
    CHECK(values == t.at(at, count));
    by_place[at] = values;
  }
  const auto check_place = [&](const LevelAt<R>& at) {
    if (range.lo <= at[0] && at[0] < range.hi && needed(t.at(at, count))) CHECK(by_place.contains(at));
  };
  for (const auto& [at, value] : t.a.naive) check_place(at);
  for (const auto& [at, value] : t.b.naive) check_place(at);
  for (const auto& [at, value] : t.c.naive) check_place(at);
}

template <int R>
void check_joint_levels(const Tensors<R>& t, Interval range) {
  const Parts<double, R> a(t.a.parts);
  const Parts<float, R> b(t.b.parts);
  const Parts<bool, R> c(t.c.parts);
  const std::integral_constant<int, R> rank;
  const auto any = [](const LevelValues& v) { return std::get<0>(v) != 0 || std::get<1>(v) != 0 || std::get<2>(v); };
  const auto first = [](const LevelValues& v) { return std::get<0>(v) != 0; };
  const auto two = [](const LevelValues& v) { return std::get<0>(v) != 0 && std::get<1>(v) != 0; };
  const auto three = [&](const LevelValues& v) { return two(v) && std::get<2>(v); };
  check<R>(visited_levels(either(a, b), range, rank), t, range, 2, any);
  check<R>(visited_levels(either(a, b, c), range, rank), t, range, 3, any);
  check<R>(visited_levels(both(a, b), range, rank), t, range, 2, two);
  check<R>(visited_levels(both(a, b, c), range, rank), t, range, 3, three);
  check<R>(visited_levels(along(a, b), range, rank), t, range, 2, first);
  check<R>(visited_levels(along(a, b, c), range, rank), t, range, 3, first);
}

template <int R>
void check_random(std::mt19937_64& random, const LevelAt<R>& extents, int cuts) {
  const std::array<double, 5> densities = {0, 0.02, 0.2, 0.6, 1};
  const auto density = [&] { return densities[random() % densities.size()]; };
  const Tensors<R> t{random_tensor<double, R>(random, extents, density(), cuts),
                     random_tensor<float, R>(random, extents, density(), cuts),
                     random_tensor<bool, R>(random, extents, density(), cuts)};
  check_joint_levels<R>(t, {0, extents[0]});
  const auto lo = static_cast<Index>(random() % static_cast<unsigned>(extents[0] + 1));
  check_joint_levels<R>(t, {lo, lo + static_cast<Index>(random() % static_cast<unsigned>(extents[0] - lo + 1))});
}

}  // namespace

TEST_CASE("sparse joint levels: vectors and tensors of three dimensions, in every format and cut") {
  std::mt19937_64 random(53);
  for (int round = 0; round < 100; ++round) {
    INFO("round " << round);
    const int cuts = round % 2 == 0 ? 1 : 3;
    check_random<1>(random, {static_cast<Index>(random() % 60)}, cuts);
    check_random<3>(
        random, {static_cast<Index>(random() % 7), static_cast<Index>(random() % 6), static_cast<Index>(random() % 9)},
        cuts);
  }
}
