#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "tests/runtime/engine_random.h"
#include "tests/runtime/simulated_world.h"

// The protocol under many schedules: random programs on simulated ranks.

namespace tdsl::tests {

namespace {

struct Simulated {
  Index wrong = 0;
  Index largest_step = 0;
};

/// One run of the program of `seed`; `schedule` decides about the network.
Simulated simulate(int ranks, std::uint32_t seed, std::uint64_t schedule, const RunSettings& settings) {
  Simulation simulation(ranks, schedule);
  Simulated sum;
  simulation.run([&](rt::World& world) {
    RunSettings mine = settings;
    mine.world = &world;
    Index step = 0;
    sum.wrong += run_random(seed, mine, &step);
    sum.largest_step = std::max(sum.largest_step, step);
  });
  return sum;
}

/// The same in the least legal window from the largest step of the first plan on.
Simulated simulate_in_least_window(int ranks, std::uint32_t seed, std::uint64_t schedule, RunSettings settings, Index window) {
  while (true) {
    settings.window = std::max<Index>(window, 1);
    try {
      return simulate(ranks, seed, schedule, settings);
    } catch (const rt::RunError& error) {
      const Index legal = legal_window(error);
      if (legal <= window) throw;
      window = legal;
    }
  }
}

}  // namespace

TEST_CASE("engine: random programs in simulation") {
  if (rt::World(rt::read_environment()).size() > 1) return;  // once is enough
  // TDSL_TEST_SIMULATIONS=FIRST:LAST runs other seeds.
  std::uint32_t first = 1;
  std::uint32_t last = 150;
  if (const char* range = std::getenv("TDSL_TEST_SIMULATIONS")) std::sscanf(range, "%u:%u", &first, &last);
  const int rank_counts[] = {2, 3, 4, 5, 7, 9, 12, 16};
  const std::vector<std::vector<Index>> tiles{{}, {1}, {3}, {4, 7}, {100}};
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed + 1000000);
    RunSettings settings;
    const int ranks = rank_counts[random() % std::size(rank_counts)];
    settings.tile = tiles[random() % tiles.size()];
    CAPTURE(ranks);
    const Index small_boxes[] = {0, 100, 8192};
    settings.small_box = small_boxes[random() % std::size(small_boxes)];
    try {
      const Simulated free = simulate(ranks, seed, seed, settings);
      CHECK(free.wrong == 0);
      CHECK(simulate_in_least_window(ranks, seed, seed + 1, settings, free.largest_step).wrong == 0);
    } catch (const std::exception& error) {
      FAIL_CHECK(std::string(error.what()));
    }
  }
}

}  // namespace tdsl::tests
