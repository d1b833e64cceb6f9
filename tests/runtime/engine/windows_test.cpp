#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/store/shared_windows.h"
#include "tests/runtime/engine/random.h"
#include "tests/runtime/simulated_world.h"

// Blocks that ranks of a node read in place.

namespace tdsl::tests {

namespace {

constexpr Index kWindowPage = 4096, kWindowBytes = Index{64} << 20;

/// Counts of a run on simulated ranks, summed.
struct WindowCounts {
  Index wrong = 0, received = 0, in_place = 0, lent = 0, sent = 0, by_messages = 0;
};

/// The program of `seed` with random layouts, whose counts run() compares with predictions.
WindowCounts read_in_simulation(int ranks, int ranks_per_node, std::uint32_t seed, Index least) {
  Simulation simulation(ranks, seed, ranks_per_node);
  WindowCounts sum;
  simulation.run([&](rt::World& world) {
    RunSettings settings;
    settings.world = &world;
    settings.plan_seed = seed;
    settings.read_in_place = least;
    RunResult about;
    sum.wrong += run_random(seed, settings, &about);
    for (const rt::SiteStatistics& site : about.sites) {
      sum.received += site.bytes_received;
      sum.sent += site.bytes_sent;
      sum.in_place += site.bytes_in_place;
      sum.lent += site.bytes_lent;
    }
  });
  for (int rank = 0; rank < ranks; ++rank) sum.by_messages += simulation.traffic(rank).bytes_received;
  return sum;
}

}  // namespace

TEST_CASE("windows: pages are taken at the lowest addresses, join again when they are free, and return to the system") {
  const std::unique_ptr<rt::SharedWindow> window = rt::SharedWindow::create(16 * kWindowPage);
  REQUIRE(window != nullptr);
  std::byte* const a = window->take(3 * kWindowPage, 3 * kWindowPage);
  std::byte* const b = window->take(1, 1);
  std::byte* const c = window->take(11 * kWindowPage, 11 * kWindowPage);
  REQUIRE(a != nullptr);
  REQUIRE(b != nullptr);
  REQUIRE(c != nullptr);
  CHECK(window->offset_of(b) == window->offset_of(a) + 3 * kWindowPage);
  CHECK(window->take(1, 1) == nullptr);
  const Index mark = window->mark();
  std::memset(a, 1, 3 * kWindowPage);
  window->give_back(a, 3 * kWindowPage);
  CHECK(window->take(4 * kWindowPage, 4 * kWindowPage) == nullptr);
  window->give_back(c, 11 * kWindowPage);
  window->give_back(b, 1);
  std::byte* const all = window->take(15 * kWindowPage, 15 * kWindowPage);
  CHECK(all == a);
  CHECK(std::ranges::all_of(std::vector<std::byte>(all, all + kWindowPage),
                            [](std::byte x) { return x == std::byte{}; }));
  CHECK(window->mark() == mark);
}

TEST_CASE("windows: ranks of a node see each other's blocks, others are sent to") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  Simulation simulation(4, 1, 2);
  simulation.run([](rt::World& world) {
    std::string refused;
    std::unique_ptr<rt::SharedWindows> windows = rt::SharedWindows::open(world, refused, 100, kWindowBytes);
    REQUIRE(windows != nullptr);
    CHECK(windows->has(100));
    CHECK(!windows->has(99));
    std::byte* const mine = windows->own().take(kWindowPage, kWindowPage);
    *mine = static_cast<std::byte>(world.rank() + 1);
    const std::vector<std::vector<Index>> offsets =
        world.access()->all_gather_values<Index>(std::vector<Index>{windows->own().offset_of(mine)});
    const int neighbour = world.rank() ^ 1;
    const std::byte* const theirs = windows->address(neighbour, offsets[static_cast<std::size_t>(neighbour)][0]);
    CHECK(*theirs == static_cast<std::byte>(neighbour + 1));
    CHECK_THROWS((void)windows->address((world.rank() + 2) % 4, offsets[0][0]));
    world.access()->barrier();
    windows->own().give_back(mine, kWindowPage);
  });
}

TEST_CASE("windows: a program reads pieces in place, whole blocks or contiguous parts of them") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  WindowCounts all;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const int ranks = 2 + static_cast<int>(seed % 3);
    const int ranks_per_node = ranks == 4 && seed % 2 == 0 ? 2 : 0;
    const WindowCounts sent = read_in_simulation(ranks, ranks_per_node, seed, 0);
    const WindowCounts read = read_in_simulation(ranks, ranks_per_node, seed, 1 + seed % 3 * 64);
    CHECK(sent.wrong == 0);
    CHECK(read.wrong == 0);
    CHECK(sent.in_place == 0);
    CHECK(read.received == sent.received);
    CHECK(read.sent == sent.sent);
    CHECK(read.in_place == read.lent);
    CHECK(read.by_messages == read.received - read.in_place);
    all.received += read.received;
    all.in_place += read.in_place;
  }
  CHECK(all.in_place > 0);
}

}  // namespace tdsl::tests
