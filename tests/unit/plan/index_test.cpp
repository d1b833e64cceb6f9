#include <doctest/doctest.h>

#include <set>

#include "runtime/plan/space/index.h"
#include "tests/unit/plan/random.h"

using namespace tdsl::plan;
using tdsl::tests::Random;

namespace {

void check_tiling(Random& random, const Tiling& tiling, Index extent) {
  REQUIRE(tiling.extent() == extent);
  Index next = 0;
  Index longest = 0;
  bool consistent = true;
  for (Index t = 0; t < tiling.tiles(); ++t) {
    const Interval tile = tiling.tile(t);
    consistent = consistent && tile.lo == next && tile.hi > tile.lo;
    for (Index x = tile.lo; x < tile.hi; ++x) consistent = consistent && tiling.tile_of(x) == t;
    longest = std::max(longest, tile.size());
    next = tile.hi;
  }
  CHECK(consistent);
  CHECK(next == extent);
  CHECK(tiling.longest() == longest);
  const Interval range{random.in(-3, extent + 2), random.in(-3, extent + 3)};
  std::set<Index> meeting;
  for (Index x = std::max<Index>(range.lo, 0); x < std::min(range.hi, extent); ++x) meeting.insert(tiling.tile_of(x));
  const Interval found = tiling.tiles_meeting(range);
  CHECK(found.size() == static_cast<Index>(meeting.size()));
  if (!meeting.empty()) CHECK(found == Interval{*meeting.begin(), *meeting.rbegin() + 1});
}

}  // namespace

TEST_CASE("tilings cut a dimension into tiles without gap or overlap") {
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(10); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    const Index extent = random.in(0, 60);
    const Tiling tiling = tdsl::tests::random_tiling(random, extent);
    INFO("case ", n, " extent ", extent, " tiles ", tiling.tiles());
    check_tiling(random, tiling, extent);
  }
}

TEST_CASE("near-equal tiles differ by at most one element, fixed tiles have the edge asked for") {
  for (Index extent = 1; extent < 40; ++extent) {
    for (Index tiles = 1; tiles < 45; ++tiles) {
      const Tiling tiling = Tiling::near_equal(extent, tiles);
      CHECK(tiling.tiles() == std::min(extent, tiles));
      for (Index t = 0; t < tiling.tiles(); ++t) CHECK(tiling.longest() - tiling.tile(t).size() <= 1);
      const Tiling fixed = Tiling::fixed(extent, tiles);
      for (Index t = 0; t + 1 < fixed.tiles(); ++t) CHECK(fixed.tile(t).size() == tiles);
    }
  }
}

TEST_CASE("tilings of extents near 2^62 do not overflow") {
  const Index extent = (Index{1} << 62) - 57;
  const Tiling tiling = Tiling::near_equal(extent, 1'000'003);
  CHECK(tiling.tile(tiling.tiles() - 1).hi == extent);
  for (const Index t : {Index{0}, Index{1}, Index{500'000}, tiling.tiles() - 1}) {
    const Interval tile = tiling.tile(t);
    CHECK(tiling.tile_of(tile.lo) == t);
    CHECK(tiling.tile_of(tile.hi - 1) == t);
  }
  const Tiling fixed = Tiling::fixed(extent, (Index{1} << 61) + 1);
  CHECK(fixed.tiles() == 2);
  CHECK(fixed.tile(1).hi == extent);
}

TEST_CASE("boxes: volume, intersection, containment") {
  Box point;
  CHECK(point.volume() == 1);
  Box a;
  a.rank = 2;
  a[0] = {0, 4};
  a[1] = {2, 5};
  Box b = a;
  b[0] = {3, 9};
  CHECK(a.volume() == 12);
  CHECK(intersect(a, b).volume() == 3);
  CHECK(contains(a, intersect(a, b)));
  CHECK_FALSE(contains(a, b));
  b[0] = {6, 9};
  CHECK(intersect(a, b).empty());
}
