#include <algorithm>
#include <string>

#include "tests/runtime/allocations.h"
#include "tests/runtime/simulated_world.h"
#include "tests/runtime/stored_programs.h"

// Compressed matrices end to end: from their files through planned operations to dense results.

namespace tdsl::tests {

namespace {

using stored::Outcome;
using stored::run_all;

const std::vector<std::string> kExtensions = {".mtx", ".tns", ".npy"};

/// Settings from a seed, and a matrix of few or many elements.
struct StoredCase {
  explicit StoredCase(std::uint32_t seed) : random(seed) {
    settings.tile = std::vector<std::vector<Index>>{{}, {1}, {3}, {4, 7}, {100}}[random() % 5];
    settings.small_box = random() % 2 == 0 ? 0 : 8192;
    settings.plan_seed = random() % 2 == 0 ? seed : 0;
    rows = 1 + static_cast<Index>(random() % 40);
    columns = 1 + static_cast<Index>(random() % 40);
    entries = std::vector<Index>{1, rows, rows * columns / 8 + 1, 2 * rows * columns}[random() % 4];
    extension = kExtensions[random() % kExtensions.size()];
  }
  std::mt19937 random;
  RunSettings settings;
  Index rows, columns, entries;
  std::string extension;
};

Outcome in_least_window(const StoredFile& file, RunSettings settings) {
  settings.window = 1;
  while (true) {
    try {
      return run_all(file, settings);
    } catch (const rt::RunError& error) {
      const Index legal = legal_window(error);
      if (legal <= settings.window) throw;
      settings.window = legal;
    }
  }
}

}  // namespace

TEST_CASE("stored: products, scatters and scaled copies of compressed matrices") {
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    CAPTURE(seed);
    StoredCase about(seed);
    about.settings.threads = 1 + static_cast<int>(seed % 3);
    about.settings.delay_seed = seed % 4 == 0 ? seed : 0;
    const TemporaryFolder folder;
    StoredFile file = random_stored(folder, about.random, about.extension, about.rows, about.columns, about.entries);
    rt::World world(rt::read_environment());
    world.access().broadcast(file.path, 0);  // rank 0's is everybody's
    CHECK(run_all(file, about.settings).wrong == 0);
    CHECK(in_least_window(file, about.settings).wrong == 0);
    world.access().barrier();
  }
}

TEST_CASE("stored: the same on simulated ranks") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  for (std::uint32_t seed = 1; seed <= 42; ++seed) {
    CAPTURE(seed);
    StoredCase about(seed + 1000);
    const TemporaryFolder folder;
    const StoredFile file = random_stored(folder, about.random, about.extension, about.rows, about.columns, about.entries);
    Simulation simulation(static_cast<int>(1 + seed % 7), seed);
    int wrong = 0;
    simulation.run([&](rt::World& world) {
      RunSettings settings = about.settings;
      settings.world = &world;
      wrong |= run_all(file, settings).wrong;
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("stored: nothing of the matrix's size is allocated, however it is read") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  constexpr Index kRows = 2500, kColumns = 2000;
  for (const std::string& extension : kExtensions) {
    CAPTURE(extension);
    std::mt19937 random(7);
    const TemporaryFolder folder;
    const StoredFile file = random_stored(folder, random, extension, kRows, kColumns, 20'000);
    for (const int ranks : {1, 3}) {
      Simulation simulation(ranks, 3);
      (void)take_largest_allocation();
      int wrong = 0;
      Index buffer = 0, stored = 0;
      simulation.run([&](rt::World& world) {
        RunSettings settings;
        settings.world = &world;
        const Outcome outcome = run_all(file, settings, false);
        wrong |= outcome.wrong;
        stored = static_cast<Index>(outcome.stored);
        buffer = std::max(buffer, outcome.run.largest_buffer);
      });
      CHECK(wrong == 0);
      CHECK(stored == (extension == ".npy" ? kRows * kColumns / 100 : 20'000));
      CHECK(buffer > 0);
      CHECK(buffer < kRows * kColumns / 8);
      CHECK(take_largest_allocation() < static_cast<std::size_t>(kRows * kColumns));  // a byte per element
    }
  }
}

}  // namespace tdsl::tests
