#include "runtime/plan/space/tiles.h"

#include <doctest/doctest.h>

using namespace tdsl::plan;

namespace {

Index tiles_of(const std::vector<Index>& shape, int threads, bool contraction, Index depth = 1) {
  PlanInputs inputs;
  inputs.threads = threads;
  Index tiles = 1;
  for (const Tiling& t :
       choose_tiles({shape, std::vector<Index>(shape.size(), 1), contraction, threads, 1, 1, depth}, {}, inputs))
    tiles *= t.tiles();
  return tiles;
}

}  // namespace

TEST_CASE(
    "tiles: a product has at least four for every thread; where one panel is all of the sum, in a number that the "
    "threads share evenly") {
  for (const Index n : {1000, 1024, 4000, 8000}) {
    for (const int threads : {2, 3, 4, 5, 6, 7}) {
      const Index tiles = tiles_of({n, n}, threads, true);
      CAPTURE(n);
      CAPTURE(threads);
      CAPTURE(tiles);
      CHECK(tiles >= 4 * threads);
      if (n <= 1024) CHECK(tiles % threads == 0);
    }
  }
}

TEST_CASE("tiles: those of a large product on one rank are whole micro-tiles but at the end") {
  PlanInputs inputs;
  inputs.threads = 2;
  const auto tilings = [&](Index extent) {
    TileRequest request{{extent, extent}, {1, 1}, true, 2};
    request.unit = tile_unit(inputs, 4);
    return choose_tiles(request, {}, inputs);
  };
  for (const Tiling& t : tilings(8000)) {
    CHECK(t.tiles() == 8);
    CHECK(t.longest() <= 1056);
    for (Index k = 0; k + 1 < t.tiles(); ++k) CHECK(t.tile(k).size() % 96 == 0);
  }
  for (const Tiling& t : tilings(500)) CHECK(t.unit() == 1);
  inputs.reproducible = true;
  for (const Tiling& t : tilings(8000)) CHECK(t.unit() == 1);
  inputs = {};
  inputs.ranks = 2;
  for (const Tiling& t : tilings(8000)) CHECK(t.unit() == 1);
}

TEST_CASE("tiles: a small result is shared by threads when much is reduced into it and it cannot be made in parts") {
  CHECK(tiles_of({200, 200}, 2, true) == 1);
  CHECK(tiles_of({200, 200}, 2, true, 100'000) == 4);
  CHECK(tiles_of({60, 60}, 2, true, 100'000) == 1);
  CHECK(tiles_of({200, 200}, 1, true, 100'000) == 1);
}

TEST_CASE("tiles: where a dimension stays whole the others are cut") {
  PlanInputs inputs;
  inputs.threads = 2;
  TileRequest request{{6000, 3000}, {1, 1}, false, 2};
  request.uncut = {true, false};
  const std::vector<Tiling> tilings = choose_tiles(request, {}, inputs);
  CHECK(tilings[0].tiles() == 1);
  CHECK(tilings[1].tiles() >= 8);
  request.uncut = {true, true};
  for (const Tiling& t : choose_tiles(request, {}, inputs)) CHECK(t.tiles() == 1);
}

TEST_CASE("tiles: no tile is cut for threads into pieces shorter than a grain, and large ones are cut in any case") {
  PlanInputs inputs;
  inputs.threads = 2;
  TileRequest request{{400, 400}, {1, 1}, false, 2};
  const auto tiles = [&](double seconds) {
    request.seconds = seconds / (400.0 * 400.0);
    Index n = 1;
    for (const Tiling& t : choose_tiles(request, {}, inputs)) n *= t.tiles();
    return n;
  };
  inputs.machine.grain = 1e-4;
  CHECK(tiles(1.9e-4) == 1);
  CHECK(tiles(2.1e-4) == 2);
  CHECK(tiles(1) == 4);  // then too few elements for another cut
  inputs.machine.grain = 1;
  CHECK(tiles(1.9e-4) == 1);
  request.shape = {6000, 3000};
  CHECK(tiles(1e-3) >= 18);
}
