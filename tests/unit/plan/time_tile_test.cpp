#include "runtime/plan/time_tile.h"

#include <doctest/doctest.h>

#include <limits>

#include "runtime/plan/cost/machine.h"

// Heights of time tiles, and tiles that stay in cache.

namespace tdsl::tests::time_tiles {

namespace {

using plan::Index;
using plan::Reach;

plan::StencilLoop plate(Index n, Index steps) { return {0, steps, {n, n}, {{1, 1}, {1, 1}}, 8, 5}; }

}  // namespace

TEST_CASE("time tiles: the height asked for, at most that of the loop") {
  const plan::Machine machine;
  CHECK(plan::time_tile(plate(100, 50), 8, machine, 3, 1) == 8);
  CHECK(plan::time_tile(plate(100, 5), 8, machine, 3, 1) == 5);
  CHECK(plan::time_tile(plate(100, 0), 8, machine, 3, 1) == 1);
  CHECK(plan::time_tile(plate(0, 50), 8, machine, 3, 1) == 1);
  plan::StencilLoop endless = plate(100, std::numeric_limits<Index>::max());
  endless.begin = std::numeric_limits<Index>::min();
  CHECK(plan::time_tile(endless, 8, machine, 3, 1) == 8);
}

TEST_CASE("time tiles: by price, beyond the cache or where exchanges cost more than margins") {
  plan::Machine machine;
  CHECK(plan::time_tile(plate(60, 100), 0, machine, 2, 1) == 1);  // too small
  CHECK(plan::time_tile(plate(800, 100), 0, machine, 1, 1) == 1);
  CHECK(plan::time_tile(plate(4000, 100), 0, machine, 1, 1) > 1);
  CHECK(plan::time_tile(plate(4000, 1), 0, machine, 1, 1) == 1);
  machine.exchange_overhead = 1e-2;
  CHECK(plan::time_tile(plate(800, 100), 0, machine, 2, 1) > 1);
  CHECK(plan::seconds_of_step(plate(800, 100), 8, machine, 2, 1) <
        plan::seconds_of_step(plate(800, 100), 1, machine, 2, 1));
}

TEST_CASE("time tiles: tiles fit the cache, longest in the last dimension, and margins are no longer than tiles") {
  const std::vector<Reach> near(3, Reach{1, 1});
  const auto tile = plan::cache_tile({4000, 4000}, {near[0], near[1]}, 8, 8);
  CHECK(tile[0] * tile[1] * 8 <= 256 * 1024);
  CHECK(tile[1] >= tile[0]);
  CHECK(plan::cache_tile({4000, 30}, {near[0], near[1]}, 8, 8)[1] == 30);
  CHECK(plan::cache_tile({10, 10, 10}, near, 8, 8) == std::vector<Index>{10, 10, 10});
  for (const Index edge : plan::cache_tile({900, 900, 900}, near, 33, 8)) CHECK(edge >= 64);
  CHECK(plan::cache_tile({1000000}, {near[0]}, 8, 8)[0] == 32768);
}

}  // namespace tdsl::tests::time_tiles
