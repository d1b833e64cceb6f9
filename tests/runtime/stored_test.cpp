#include <algorithm>
#include <string>

#include "tests/runtime/allocations.h"
#include "tests/runtime/simulated_world.h"
#include "tests/runtime/stored_programs.h"

// Compressed matrices end to end: from files through planned operations to dense results.

namespace tdsl::tests {

namespace {

using stored::Outcome;
using stored::run_all;

const std::vector<std::string> kExtensions = {".mtx", ".tns", ".npy"};

/// Settings from a seed, and a matrix with few or many elements.
struct StoredCase {
  StoredCase(std::uint32_t seed, int ranks) : random(seed) {
    settings.tile = std::vector<std::vector<Index>>{{}, {1}, {3}, {4, 7}, {100}}[random() % 5];
    settings.small_box = random() % 2 == 0 ? 0 : 8192;
    settings.plan_seed = random() % 2 == 0 && ranks > 1 ? seed : 0;
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

/// A power-law graph (R-MAT, Chakrabarti et al. 2004): most of its edges are at a few vertices, the first ones.
std::string power_law_text(std::mt19937& random, int scale, Index edges) {
  const Index n = Index{1} << scale;
  std::string text = "%%MatrixMarket matrix coordinate real general\n" + std::to_string(n) + " " + std::to_string(n) +
                     " " + std::to_string(edges) + "\n";
  for (Index k = 0; k < edges; ++k) {
    Index i = 1, j = 1;
    for (int bit = 0; bit < scale; ++bit) {
      const auto draw = random() % 100;
      i += draw >= 76 ? Index{1} << bit : 0;
      j += (draw >= 57 && draw < 76) || draw >= 95 ? Index{1} << bit : 0;
    }
    text += std::to_string(i) + " " + std::to_string(j) + " 1\n";
  }
  return text;
}

/// Writes the results of the programs to files. Returns the texts of those on rank 0.
std::vector<std::string> written_files(const TemporaryFolder& folder, const StoredFile& file, int ranks,
                                       const std::vector<Index>& tile) {
  Simulation simulation(ranks, 11);
  const std::vector<std::string> names = {"P.mtx", "P.tns", "P.npz", "P.npy"};
  simulation.run([&](rt::World& world) {
    RunSettings settings;
    settings.world = &world;
    settings.tile = tile;
    declare(settings, file);
    const auto read = settings.declare;
    settings.declare = [&](rt::ProgramInfo& info, rt::AppOptions& options) {
      read(info, options);
      for (const std::string& name : names) {
        info.output(name.c_str(), "f64[n, m]", 6);
        options.outputs[name] = folder / name;
      }
    };
    run(settings, [&](TestSession& session) {
      const Tensor<double> a = session.stored_input<double>("A", {file.rows, file.columns}, 10, 1);
      const Tensor<double> p = stored::scaled(session, a, vector_of(session, "w", file.rows, 2, stored::weight));
      for (const std::string& name : names) session.output(name, p, 20, 6);
    });
  });
  std::vector<std::string> texts;
  for (const std::string& name : names) texts.push_back(folder.read(name));
  return texts;
}

}  // namespace

TEST_CASE("stored: products, scatters and scaled copies of compressed matrices") {
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    CAPTURE(seed);
    rt::World world(rt::read_environment());
    StoredCase about(seed, world.size());
    about.settings.threads = 1 + static_cast<int>(seed % 3);
    about.settings.delay_seed = seed % 4 == 0 ? seed : 0;
    const TemporaryFolder folder;
    StoredFile file = random_stored(folder, about.random, about.extension, about.rows, about.columns, about.entries);
    world.access()->broadcast(file.path, 0);  // all ranks use rank 0's
    CHECK(run_all(file, about.settings).wrong == 0);
    CHECK(in_least_window(file, about.settings).wrong == 0);
    world.access()->barrier();
  }
}

TEST_CASE("stored: the same on simulated ranks") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  for (std::uint32_t seed = 1; seed <= 42; ++seed) {
    CAPTURE(seed);
    const int ranks = static_cast<int>(1 + seed % 7);
    StoredCase about(seed + 1000, ranks);
    const TemporaryFolder folder;
    const StoredFile file =
        random_stored(folder, about.random, about.extension, about.rows, about.columns, about.entries);
    Simulation simulation(ranks, seed);
    int wrong = 0;
    simulation.run([&](rt::World& world) {
      RunSettings settings = about.settings;
      settings.world = &world;
      wrong |= run_all(file, settings).wrong;
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("stored: in as little memory as the planner asks for") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  for (std::uint32_t seed = 1; seed <= 14; ++seed) {
    CAPTURE(seed);
    const int ranks = static_cast<int>(1 + seed % 7);
    StoredCase about(seed + 2000, ranks);
    about.settings.plan_seed = 0;
    const TemporaryFolder folder;
    const StoredFile file =
        random_stored(folder, about.random, about.extension, about.rows, about.columns, about.entries);
    // Another limit gives another plan, which reports its need; the engine respects the last one.
    Index memory = 1, needed = 0, peak = 0;
    int wrong = 0;
    const auto run_with = [&](bool limited) {
      needed = peak = 0;
      Simulation simulation(ranks, seed);
      simulation.run([&](rt::World& world) {
        RunSettings settings = about.settings;
        settings.world = &world;
        settings.adjust = [memory, limited](rt::RunSetup& setup) {
          setup.plan_inputs.memory = memory;
          setup.engine_options.memory_bytes = limited ? memory : 0;
        };
        const Outcome outcome = run_all(file, settings);
        wrong |= outcome.wrong;
        needed = std::max(needed, outcome.run.needed_memory);
        peak = std::max(peak, outcome.run.peak_bytes);
      });
    };
    for (int tries = 0; tries < 30; ++tries) {
      run_with(false);
      if (needed <= memory) break;
      memory = needed;
    }
    run_with(true);
    CHECK(wrong == 0);
    CHECK(needed <= memory);
    CHECK(peak <= memory);
  }
}

TEST_CASE("stored: files of results are written from blocks, and are the same for every number of ranks") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const TemporaryFolder folder;
    const StoredFile file = random_stored(folder, random, kExtensions[seed % 3], 1 + static_cast<Index>(random() % 30),
                                          1 + static_cast<Index>(random() % 30), 50);
    const std::vector<std::string> alone = written_files(folder, file, 1, {});
    const rt::NpyReader dense(folder / "P.npy");
    std::vector<double> elements(static_cast<std::size_t>(file.rows * file.columns));
    const std::vector<Index> zero = {0, 0}, shape = {file.rows, file.columns}, strides = {file.columns, 1};
    dense.read_box<double>(zero, shape, elements.data(), strides);
    Index entries = 0;
    for (Index i = 0; i < file.rows; ++i) {
      for (Index j = 0; j < file.columns; ++j) {
        const double expected = file.at(i, j) * stored::weight(i);
        CHECK(elements[static_cast<std::size_t>(i * file.columns + j)] == expected);
        entries += expected != 0 ? 1 : 0;
      }
    }
    CHECK(std::ranges::count(alone[1], '\n') == entries + 1);  // the first line states the shape
    CHECK(alone[0].find(std::to_string(file.rows) + " " + std::to_string(file.columns) + " " + std::to_string(entries) +
                        "\n") != std::string::npos);
    for (const int ranks : {2, 5})
      CHECK(written_files(folder, file, ranks, seed % 2 == 0 ? std::vector<Index>{3} : std::vector<Index>{}) == alone);
  }
}

TEST_CASE("stored: rows are cut so that ranks have equal numbers of elements") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  constexpr int kRanks = 8, kScale = 13;
  constexpr Index kEdges = 80'000, kRows = Index{1} << kScale;
  std::mt19937 random(5);
  const TemporaryFolder folder;
  StoredFile file{folder.write("A.mtx", power_law_text(random, kScale, kEdges)), kRows, kRows, {}};
  Simulation simulation(kRanks, 2);
  Index most = 0, all = 0;
  simulation.run([&](rt::World& world) {
    RunSettings settings;
    settings.world = &world;
    declare(settings, file);
    const RunResult result = run(settings, [&](TestSession& session) {
      const Tensor<double> a = session.stored_input<double>("A", {kRows, kRows}, 10, 1);
      const auto y = values<double>();
      session.collect(stored::product(session, a, vector_of(session, "x", kRows, 1, stored::weight)), y);
    });
    Index mine = 0;
    for (const rt::SiteStatistics& site : result.sites) mine += site.stored;
    most = std::max(most, mine);
    all += mine;
  });
  CHECK(all > kEdges / 2);  // duplicates counted once
  CHECK(all <= kEdges);
  CHECK(static_cast<double>(most) * kRanks <= 1.3 * static_cast<double>(all));
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
