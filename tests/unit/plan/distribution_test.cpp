#include <doctest/doctest.h>

#include <map>
#include <set>

#include "runtime/plan/space/distribution.h"
#include "tests/unit/plan/random.h"
#include "tests/unit/thinned.h"

using namespace tdsl::plan;
using tdsl::tests::for_each_tile;
using tdsl::tests::Random;

namespace {

/// The ranks of one copy: equal coordinates along the repeat axes, relative to the home.
std::vector<Index> place_of_copy(const Distribution& d, Index rank) {
  std::vector<Index> at;
  const Index from_home = (rank + d.ranks() - d.home()) % d.ranks();
  for (const GridAxis& axis : d.repeat()) at.push_back(from_home / axis.stride % axis.size);
  return at;
}

/// The first violated property, or an empty string. `owner` is queried for every tile; everything else must agree.
std::string violation(Random& random, const Distribution& d) {
  std::map<Index, std::vector<Index>> owned;  // row-major tile numbers by rank
  std::map<Index, Index> elements;
  Index tiles = 0;
  std::string wrong;
  for_each_tile(d.all_tiles(), [&](const Coord& c) {
    const Index number = d.linear(c);
    if (number != tiles++) wrong = "linear is not row-major";
    const Coord back = d.coord(number);
    for (int k = 0; k < d.rank(); ++k) {
      if (back[k] != c[k]) wrong = "coord is not the inverse of linear";
    }
    std::map<std::vector<Index>, std::set<Index>> owners;  // by copy
    for (Index rank = 0; rank < d.ranks(); ++rank) {
      const Index owner = d.owner(c, rank);
      if (owner < 0 || owner >= d.ranks()) wrong = "owner out of range";
      if (d.owner(c, owner) != owner) wrong = "the owner reads from somebody else";
      if (place_of_copy(d, owner) != place_of_copy(d, rank)) wrong = "a rank reads from another copy than its own";
      owners[place_of_copy(d, rank)].insert(owner);
      if (d.owns(rank, c) != (owner == rank)) wrong = "owns and owner disagree";
      if (owner == rank) {
        owned[rank].push_back(number);
        elements[rank] += d.box(c).volume();
      }
      for (Index other = 0; other < d.ranks(); ++other) {
        if ((d.fibre(rank) == d.fibre(other)) != (place_of_copy(d, rank) == place_of_copy(d, other))) wrong = "fibre";
      }
    }
    if (static_cast<Index>(owners.size()) != d.copies()) wrong = "copies";
    for (const auto& [copy, ranks] : owners) {
      if (ranks.size() != 1) wrong = "owner depends on who of a copy asks";
    }
    const Distribution once = d.one_copy();
    for (Index rank = 0; rank < d.ranks(); ++rank) {
      if (once.owner(c, rank) != d.owner(c, d.home())) wrong = "one_copy is not the home's";
    }
  });
  if (!wrong.empty()) return wrong;
  if (tiles != d.tile_count()) return "tile_count";
  for (Index rank = 0; rank < d.ranks(); ++rank) {
    std::vector<Index> listed;
    d.for_each_owned(rank, [&](const Coord& c) { listed.push_back(d.linear(c)); });
    if (listed != owned[rank]) return "for_each_owned of rank " + std::to_string(rank);
    if (d.owned_tiles(rank) != static_cast<Index>(listed.size())) return "owned_tiles of rank " + std::to_string(rank);
    if (d.owned_elements(rank) != elements[rank]) return "owned_elements of rank " + std::to_string(rank);
    if (d.by_table() || d.rank() == 0) continue;
    Index product = 1;
    for (int k = 0; k < d.rank(); ++k) {
      const std::vector<Index> along = d.owned_along(rank, k);
      for (std::size_t x = 1; x < along.size(); ++x) {
        if (along[x - 1] >= along[x]) return "owned_along is not increasing";
      }
      product *= static_cast<Index>(along.size());
    }
    if (product != static_cast<Index>(listed.size())) return "owned tiles are not the product of owned_along";
  }
  TileBox box = d.all_tiles();
  for (int k = 0; k < d.rank(); ++k) {
    const Index n = d.tiling(k).tiles();
    box[k].lo = random.in(0, n);
    box[k].hi = random.in(box[k].lo, n);
  }
  std::set<Index> expected;
  for_each_tile(box, [&](const Coord& c) {
    for (Index rank = 0; rank < d.ranks(); ++rank) {
      if (d.owns(rank, c)) expected.insert(rank);
    }
  });
  std::set<Index> found;
  d.for_each_owner(box, [&](Index rank) {
    if (!found.insert(rank).second) wrong = "for_each_owner names a rank twice";
  });
  if (found != expected) return "for_each_owner";
  return wrong;
}

}  // namespace

TEST_CASE("distributions: owners, owned tiles and owners of a box agree") {
  std::set<std::string> kinds;
  int with_copies = 0;
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(30); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    const Index ranks = random.in(1, random.chance(80) ? 9 : 40);
    std::vector<Tiling> tilings;
    for (int d = random.small(0, random.chance(90) ? 3 : 5); d > 0; --d) {
      tilings.push_back(tdsl::tests::random_tiling(random, random.chance(5) ? 0 : random.in(1, 12)));
    }
    const Distribution d = tdsl::tests::random_distribution(random, ranks, std::move(tilings));
    kinds.insert(d.by_table() ? "table" : d.columns() ? "columns" : d.everywhere() ? "everywhere" : "grid");
    with_copies += d.by_axes() && d.copies() > 1 ? 1 : 0;
    const std::string wrong = violation(random, d);
    INFO("case ", n, ": ", d.describe({}), " on ", ranks, " ranks");
    REQUIRE_MESSAGE(wrong.empty(), wrong);
  }
  CHECK(kinds.size() == 4);
  CHECK(with_copies > 0);
}

TEST_CASE("ranks in columns: every rank count to 40, every column count, few and many tiles") {
  for (Index ranks = 1; ranks <= tdsl::tests::thinned(40); ++ranks) {
    for (Index columns = 1; columns <= ranks; ++columns) {
      Random random(tdsl::tests::test_seed(), static_cast<std::uint64_t>(ranks * 64 + columns));
      const Index rows = random.in(1, 25);
      const Index wide = random.in(1, 25);
      std::vector<Tiling> tilings{Tiling::near_equal(rows, rows), Tiling::near_equal(wide, wide)};
      const Distribution d = Distribution::in_columns(std::move(tilings), {ranks, columns, 0, 1});
      const std::string wrong = violation(random, d);
      INFO(ranks, " ranks, ", columns, " columns, ", rows, " x ", wide, " tiles");
      REQUIRE_MESSAGE(wrong.empty(), wrong);
    }
  }
}

TEST_CASE("ranks in columns: with ranks x column height tiles the work is equal") {
  for (Index ranks = 1; ranks <= 40; ++ranks) {
    for (Index columns = 1; columns <= ranks; ++columns) {
      const Index low = ranks / columns;
      const Index rows = low * (low + 1);
      const Distribution d = Distribution::in_columns(
          {Tiling::near_equal(rows, rows), Tiling::near_equal(ranks, ranks)}, {ranks, columns, 0, 1});
      for (Index rank = 0; rank < ranks; ++rank) CHECK(d.owned_tiles(rank) == rows);
    }
  }
}

TEST_CASE("the documented copies: 2 x 2 x 2 ranks, of which one axis repeats") {
  const Distribution d = Distribution::grid(8, {Tiling::fixed(2, 1), Tiling::fixed(2, 1)},
                                            {GridDim{{{2, 4}}, 1}, GridDim{{{2, 2}}, 1}}, 0, {{2, 1}});
  CHECK(d.copies() == 2);
  for_each_tile(d.all_tiles(), [&](const Coord& c) {
    const Index first = 4 * c[0] + 2 * c[1];
    for (Index rank = 0; rank < 8; ++rank) CHECK(d.owner(c, rank) == first + rank % 2);
  });
  CHECK(d.describe({"i", "j"}) == "grid i:2 x j:2 of 2x2 tiles, 2 copies");
}

TEST_CASE("the documented grid: 2 x 3 ranks over (i, j)") {
  const Distribution d =
      Distribution::grid(6, {Tiling::fixed(2, 1), Tiling::fixed(5, 1)}, {GridDim{{{2, 3}}, 1}, GridDim{{{3, 1}}, 1}});
  const Index expected[2][5] = {{0, 1, 2, 0, 1}, {3, 4, 5, 3, 4}};
  for (Index i = 0; i < 2; ++i) {
    for (Index j = 0; j < 5; ++j) {
      Coord c;
      c.rank = 2;
      c[0] = i;
      c[1] = j;
      CHECK(d.owner(c) == expected[i][j]);
    }
  }
}
