#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <string>

#include "runtime/engine/messages/wire.h"
#include "runtime/plan/value/imposed.h"
#include "tests/runtime/engine/sized.h"
#include "tests/runtime/simulated_world.h"

// Blocks of data-dependent size, over MPI and on simulated ranks under many schedules.

namespace tdsl::tests {

namespace {

using sized::run_sized;
using sized::Sizes;

struct SizedRun {
  Index wrong = 0;
  Index largest_step = 0;
  Index needed_memory = 0;
  Index peak_bytes = 0;
};

struct SizedCluster {
  int ranks = 1;
  int ranks_per_node = 0;
};

SizedRun simulate_sized(const SizedCluster& cluster, std::uint32_t seed, std::uint64_t schedule, const Sizes& sizes,
                        const RunSettings& settings) {
  Simulation simulation(cluster.ranks, schedule, cluster.ranks_per_node);
  SizedRun sum;
  simulation.run([&](rt::World& world) {
    RunSettings mine = settings;
    mine.world = &world;
    RunResult about;
    sum.wrong += run_sized(seed, sizes, mine, &about);
    sum.largest_step = std::max(sum.largest_step, about.largest_step);
    sum.needed_memory = std::max(sum.needed_memory, about.needed_memory);
    sum.peak_bytes = std::max(sum.peak_bytes, about.peak_bytes);
  });
  return sum;
}

SizedRun simulate_sized_in_least_window(const SizedCluster& cluster, std::uint32_t seed, std::uint64_t schedule,
                                        const Sizes& sizes, RunSettings settings) {
  settings.window = 1;
  while (true) {
    try {
      return simulate_sized(cluster, seed, schedule, sizes, settings);
    } catch (const rt::RunError& error) {
      const Index legal = legal_window(error);
      if (legal <= settings.window) throw;
      settings.window = legal;
    }
  }
}

SizedRun simulate_sized_in_least_memory(const SizedCluster& cluster, std::uint32_t seed, std::uint64_t schedule,
                                        const Sizes& sizes, RunSettings settings) {
  Index memory = 1;
  while (true) {
    settings.adjust = [memory](rt::RunSetup& setup) {
      setup.plan_inputs.memory = memory;
      setup.engine_options.memory_bytes = memory;
    };
    // The planner of emitted programs rejects insufficient memory; this test runs anyway.
    Index needed = 0;
    try {
      SizedRun result = simulate_sized(cluster, seed, schedule, sizes, settings);
      needed = result.needed_memory;
      if (needed <= memory) {
        result.needed_memory = memory;
        return result;
      }
    } catch (const rt::RunError& error) {
      if (std::string(error.what()).find("more than --memory") == std::string::npos) throw;
      needed = 2 * memory;
    }
    memory = needed;
  }
}

/// Releases failed runs without messages in flight; returns their number. Their stores must be empty then.
std::size_t bury_failed_runs() {
  std::size_t runs = 0;
  for (const auto& m : failed_runs()) {
    ++runs;
    m->session.reset();
    m->execution.reset();
    CHECK(m->store.live_buffers() == 0);
  }
  failed_runs().clear();
  return runs;
}

bool is_alone() { return rt::World(rt::read_environment()).size() == 1; }

/// Traffic of every rank when all of them receive one block of the given size from rank 0.
std::vector<rt::Traffic> take_block(const SizedCluster& cluster, Index bytes, Index small_box) {
  Simulation simulation(cluster.ranks, 7, cluster.ranks_per_node);
  simulation.run([&](rt::World& world) {
    RunSettings settings;
    settings.world = &world;
    settings.small_box = small_box;
    settings.tile = {1000};
    auto taken = std::make_shared<int>(0);
    run(settings, [&](TestSession& session) {
      plan::OpBuilder make(plan::OpClass::kMap, "X", 1, 1);
      const Tensor<double> dense = matrix<double>(session, "D", 20, 20, [](Index, Index) { return 1.0; });
      make.out("i", 20).out("j", 20).read(dense.id(), {plan::at(0), plan::at(1)});
      make.stored({{plan::Level::kDense, plan::Level::kCompressed}, {}, true}, {0, 10, 400});
      const Tensor<double> x = session.compute<double>(make, [bytes](const TaskArgs& t) {
        if (bytes > 0) std::memset(t.sink().begin(bytes), 7, static_cast<std::size_t>(bytes));
      });
      plan::OpBuilder use(plan::OpClass::kControl, "use", 2, 2);
      use.write({}, {}).replicated().read(x.id(), {plan::whole(), plan::whole()});
      const Tensor<bool> used = session.compute<bool>(use, [bytes, taken](const TaskArgs& t) {
        REQUIRE(t.inputs[0].parts.size() == 1);
        const rt::BlockPart& part = t.inputs[0].parts[0];
        REQUIRE(part.bytes == bytes);
        CHECK((part.data == nullptr) == (bytes == 0));
        if (bytes > 0) CHECK(part.data[bytes - 1] == std::byte{7});
        ++*taken;
      });
    });
    CHECK(*taken == 1);
  });
  std::vector<rt::Traffic> traffic;
  for (int rank = 0; rank < cluster.ranks; ++rank) traffic.push_back(simulation.traffic(rank));
  return traffic;
}

}  // namespace

TEST_CASE("engine: sized blocks arrive") {
  for (std::uint32_t seed = 1; seed <= 14; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    RunSettings settings;
    settings.threads = 1 + static_cast<int>(random() % 3);
    const std::vector<std::vector<Index>> tiles{{}, {1}, {3}, {4, 7}};
    settings.tile = tiles[random() % tiles.size()];
    settings.delay_seed = random() % 2 == 0 ? seed : 0;
    const Index small_boxes[] = {0, 100, 8192};
    settings.small_box = small_boxes[random() % std::size(small_boxes)];
    try {
      CHECK(run_sized(seed, {300, false}, settings) == 0);
      CHECK(run_sized(seed, {50000, true}, settings) == 0);
    } catch (const std::exception& error) { FAIL_CHECK(std::string(error.what())); }
  }
}

TEST_CASE("engine: sized blocks in simulation") {
  if (!is_alone()) return;  // once is enough
  // TDSL_TEST_SIZED=FIRST:LAST selects other seeds.
  std::uint32_t first = 1;
  std::uint32_t last = 6;
  if (const char* range = std::getenv("TDSL_TEST_SIZED")) std::sscanf(range, "%u:%u", &first, &last);
  const int rank_counts[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 16};
  const std::vector<std::vector<Index>> tiles{{}, {1}, {3}, {4, 7}, {100}};
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed + 2000000);
    RunSettings settings;
    const int ranks = rank_counts[random() % std::size(rank_counts)];
    settings.tile = tiles[random() % tiles.size()];
    CAPTURE(ranks);
    const Index small_boxes[] = {0, 100, 8192};
    settings.small_box = small_boxes[random() % std::size(small_boxes)];
    std::vector<int> node_sizes{0};
    for (int n = 2; n < ranks; ++n) {
      if (ranks % n == 0) node_sizes.push_back(n);
    }
    const SizedCluster cluster{ranks, node_sizes[random() % node_sizes.size()]};
    CAPTURE(cluster.ranks_per_node);
    const Sizes sizes{std::array<Index, 2>{0, 300}[random() % 2], false};
    const Sizes wrong{std::array<Index, 2>{2000, 30000}[random() % 2], true};
    try {
      for (const std::uint64_t plan_seed : {std::uint64_t{0}, std::uint64_t{seed}}) {
        CAPTURE(plan_seed);
        settings.plan_seed = plan_seed;
        const std::uint64_t schedule = 10 * seed + plan_seed;
        CHECK(simulate_sized(cluster, seed, schedule, sizes, settings).wrong == 0);
        CHECK(simulate_sized_in_least_window(cluster, seed, schedule + 1, sizes, settings).wrong == 0);
        const SizedRun tight = simulate_sized_in_least_memory(cluster, seed, schedule + 2, sizes, settings);
        CHECK(tight.wrong == 0);
        CHECK(tight.peak_bytes <= tight.needed_memory);
        CHECK(simulate_sized(cluster, seed, schedule + 3, wrong, settings).wrong == 0);
        CHECK(simulate_sized_in_least_window(cluster, seed, schedule + 4, wrong, settings).wrong == 0);
        CHECK(simulate_sized_in_least_memory(cluster, seed, schedule + 5, wrong, settings).wrong == 0);
      }
    } catch (const std::exception& error) { FAIL_CHECK(std::string(error.what())); }
    bury_failed_runs();
  }
}

TEST_CASE("engine: a run that fails while sized blocks are under way leaves nothing") {
  if (!is_alone()) return;
  std::size_t failed = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RunSettings settings;
    settings.tile = {seed % 2 == 0 ? Index{3} : Index{1}};
    settings.small_box = 0;
    Sizes sizes{5000, true};
    sizes.fails = 40;
    try {
      simulate_sized({static_cast<int>(2 + seed % 6), 0}, seed, seed, sizes, settings);
    } catch (const rt::RunError& error) { CHECK(std::string(error.what()) == "made to fail"); }
    failed += bury_failed_runs();
  }
  CHECK(failed > 20);
}

TEST_CASE("engine: the size of a block decides how it is sent") {
  if (!is_alone()) return;
  for (const SizedCluster& cluster : {SizedCluster{2, 0}, {4, 0}, {7, 0}, {8, 2}}) {
    CAPTURE(cluster.ranks);
    const auto others = static_cast<Index>(cluster.ranks - 1);
    for (const Index bytes : {Index{0}, Index{100}, Index{8191}, Index{8192}, Index{100000}}) {
      CAPTURE(bytes);
      const std::vector<rt::Traffic> traffic = take_block(cluster, bytes, 8192);
      Index sent = 0, messages = 0;
      for (const rt::Traffic& t : traffic) {
        sent += t.bytes_sent;
        messages += t.messages_sent;
        CHECK(t.bytes_received <= bytes);
      }
      CHECK(sent == bytes * others);
      CHECK(messages == (bytes == 0 ? 0 : others));
    }
  }
}

TEST_CASE("engine: a block larger than estimated waits for earlier steps") {
  if (!is_alone()) return;
  static constexpr Index kWindow = 4000, kBytes = 100000;
  // A value moves back and forth between two ranks; meanwhile the last step, admitted early, is offered a large block.
  const auto most_before_the_last = [](std::uint64_t seed, Index window) {
    Index most = 0;
    Simulation simulation(2, seed);
    simulation.run([&](rt::World& world) {
      RunSettings settings;
      settings.world = &world;
      settings.window = window;
      settings.small_box = 0;
      run(settings, [&](TestSession& session) {
        const std::string head = "tdsl plan 1\nprogram \"test\" region 0 ranks 2 schedule none\nmesh a:2/1\n";
        session.inside().sink.impose(std::make_unique<plan::ImposedPlan>(std::make_shared<plan::PlanValue>(
            plan::parse_plan(head + "10 map \"X\" home 0\n11 map \"F\" home 1\n12 map \"F\" home 0\n13 map \"F\" home "
                                    "1\n14 map \"U\" home 1\n"))));
        session.inside().sink.enable_predictions(false);
        rt::Store& store = session.inside().setup.store;
        Tensor<double> value = matrix<double>(session, "D", 6, 6, [](Index, Index) { return 1.0; });
        plan::OpBuilder make(plan::OpClass::kMap, "X", 10, 10);
        make.out("i", 6).out("j", 6).read(value.id(), {plan::at(0), plan::at(1)});
        make.stored({{plan::Level::kDense, plan::Level::kCompressed}, {}, true}, {0, 1, 2});
        const Tensor<double> x =
            session.compute<double>(make, [](const TaskArgs& t) { std::memset(t.sink().begin(kBytes), 7, kBytes); });
        for (int site = 11; site <= 13; ++site) {
          plan::OpBuilder forth(plan::OpClass::kMap, "F", site, site);
          forth.out("i", 6).out("j", 6).read(value.id(), {plan::at(0), plan::at(1)});
          value = session.compute<double>(forth, [&most, &store, site](const TaskArgs& t) {
            if (site == 13) most = store.live_bytes();
            rt::fill<double>(t.outputs[0], 1.0);
          });
        }
        plan::OpBuilder use(plan::OpClass::kMap, "U", 14, 14);
        use.out("i", 6)
            .out("j", 6)
            .read(value.id(), {plan::at(0), plan::at(1)})
            .read(x.id(), {plan::at(0), plan::at(1)});
        const Tensor<double> used = session.compute<double>(use, [](const TaskArgs& t) {
          CHECK(t.inputs[1].parts[0].bytes == kBytes);
          rt::fill<double>(t.outputs[0], 1.0);
        });
      });
    });
    return most;
  };
  Index ahead = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    CHECK(most_before_the_last(seed, kWindow) < kBytes);
    ahead += most_before_the_last(seed, 0) > kBytes ? 1 : 0;
  }
  CHECK(ahead > 0);
}

TEST_CASE("engine: a step that exceeds --memory stops the run") {
  if (!is_alone()) return;
  Simulation simulation(2, 3);
  std::string text;
  try {
    simulation.run([&](rt::World& world) {
      RunSettings settings;
      settings.world = &world;
      settings.tile = {1000};
      settings.adjust = [](rt::RunSetup& setup) { setup.engine_options.memory_bytes = 20000; };
      run(settings, [&](TestSession& session) {
        const Tensor<double> dense = matrix<double>(session, "D", 4, 4, [](Index, Index) { return 1.0; });
        plan::OpBuilder make(plan::OpClass::kMap, "big", 1, 1);
        make.out("i", 4).out("j", 4).read(dense.id(), {plan::at(0), plan::at(1)});
        make.stored({{plan::Level::kDense, plan::Level::kCompressed}, {}, true}, {0, 1, 2});
        const Tensor<double> x =
            session.compute<double>(make, [](const TaskArgs& t) { std::memset(t.sink().begin(50000), 7, 50000); });
        session.inside().complete();
      });
    });
  } catch (const rt::RunError& error) { text = error.what(); }
  CHECK(text.find("`big` needs a block of 50000 bytes") != std::string::npos);
  CHECK(text.find("more than --memory 20000") != std::string::npos);
  bury_failed_runs();
}

TEST_CASE("engine: a sized tensor is copied block by block") {
  if (!is_alone()) return;
  constexpr Index n = 12;
  for (const Index stored_rows : {n, Index{5}, Index{0}}) {
    Simulation simulation(4, 5);
    simulation.run([&](rt::World& world) {
      RunSettings settings;
      settings.world = &world;
      settings.tile = {3};
      Index tasks = 0;
      auto read = std::make_shared<sized::Entries>();
      const RunResult result = run(settings, [&](TestSession& session) {
        const std::string text =
            "tdsl plan 1\nprogram \"test\" region 0 ranks 4 schedule none\nmesh a:4/1\n2 map \"X\" i:a keep everywhere "
            "for 3\n";
        session.inside().sink.impose(
            std::make_unique<plan::ImposedPlan>(std::make_shared<plan::PlanValue>(plan::parse_plan(text))));
        const Tensor<double> dense =
            matrix<double>(session, "D", n, n, [n](Index i, Index j) { return static_cast<double>(1 + i * n + j); });
        plan::OpBuilder make(plan::OpClass::kMap, "X", 2, 2);
        make.out("i", n).out("j", n).read(dense.id(), {plan::at(0), plan::at(1)});
        make.stored({{plan::Level::kDense, plan::Level::kCompressed}, {}, true}, {0, n * n / 2, n * n});
        const Tensor<double> x = session.compute<double>(make, [stored_rows](const TaskArgs& t) {
          sized::Entries entries;
          const auto in = t.in<double, 2>(0);
          for (Index i = t.lo(0); i < std::min(t.hi(0), stored_rows); ++i) {
            for (Index j = t.lo(1); j < t.hi(1); ++j) entries[{i, j}] = in(i, j);
          }
          sized::write(t.sink(), entries, 0);
        });
        plan::OpBuilder use(plan::OpClass::kControl, "use", 3, 3);
        use.write({}, {}).replicated().read(x.id(), {plan::whole(), plan::whole()});
        const Tensor<bool> used =
            session.compute<bool>(use, [read](const TaskArgs& t) { *read = sized::read(t.inputs[0]); });
      });
      CHECK(static_cast<Index>(read->size()) == stored_rows * n);
      for (const auto& [at, value] : *read) CHECK(value == static_cast<double>(1 + at.first * n + at.second));
      for (const rt::SiteStatistics& site : result.sites) {
        if (site.site == 2) tasks += site.tasks;
      }
      CHECK(tasks == 4 + 16);  // its row of tiles, and the whole copy
    });
  }
}

TEST_CASE("engine: a sized block is changed in place when nothing else needs it") {
  if (!is_alone()) return;
  for (const bool keeps : {false, true}) {
    int in_place = 0, copied = 0;
    run({}, [&](TestSession& session) {
      const auto stored = [](plan::OpBuilder& op) {
        op.stored({{plan::Level::kDense, plan::Level::kCompressed}, {}, true}, plan::Estimate::exactly(8));
      };
      plan::OpBuilder make(plan::OpClass::kMap, "X", 1, 1);
      make.out("i", 4).out("j", 4);
      const Tensor<double> dense = matrix<double>(session, "D", 4, 4, [](Index, Index) { return 1.0; });
      make.read(dense.id(), {plan::at(0), plan::at(1)});
      stored(make);
      Tensor<double> x =
          session.compute<double>(make, [](const TaskArgs& t) { std::memset(t.sink().begin(1000), 1, 1000); });
      std::vector<Tensor<double>> kept;
      for (int k = 0; k < 5; ++k) {
        plan::OpBuilder update(plan::OpClass::kMap, "U", 2, 2);
        update.label("i", {0, 2}).label("j", {0, 4}).write({4, 4}, {{0, 1, 0}, {1, 1, 0}}).base(x.id());
        stored(update);
        if (keeps) kept.push_back(x);
        x = session.compute<double>(update, [&in_place, &copied, k](const TaskArgs& t) {
          const rt::BlockPart before = t.sink().before();
          if (before.data == nullptr) return;
          std::byte* const now = t.sink().change();
          CHECK(now[0] == static_cast<std::byte>(k + 1));
          now[0] = static_cast<std::byte>(k + 2);
          ++(now == before.data ? in_place : copied);
        });
      }
      plan::OpBuilder use(plan::OpClass::kControl, "use", 3, 3);
      use.write({}, {}).replicated().read(x.id(), {plan::whole(), plan::whole()});
      for (const Tensor<double>& older : kept) use.read(older.id(), {plan::whole(), plan::whole()});
      const Tensor<bool> used = session.compute<bool>(use, [](const TaskArgs& t) {
        CHECK(t.inputs[0].parts[0].data[0] == std::byte{6});
        for (std::size_t k = 1; k < t.inputs.size(); ++k)
          CHECK(t.inputs[k].parts[0].data[0] == static_cast<std::byte>(k));
      });
    });
    CHECK(in_place == (keeps ? 0 : 5));
    CHECK(copied == (keeps ? 5 : 0));
  }
}

TEST_CASE("engine: packs name the sizes of sized blocks only") {
  using rt::wire::PackEntry;
  const std::vector<PackEntry> boxes{{5, -1}, {7, -1}};
  CHECK(rt::wire::encode_pack_head(boxes).size() == 3 * sizeof(Index));
  const std::vector<PackEntry> mixed{{5, -1}, {0, 0}, {9, 123}};
  const std::vector<std::byte> bytes = rt::wire::encode_pack_head(mixed);
  std::span<const std::byte> rest = bytes;
  const std::vector<PackEntry> found = rt::wire::decode_pack_head(rest);
  REQUIRE(found.size() == 3);
  CHECK(rest.empty());
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(found[k].slot == mixed[k].slot);
    CHECK(found[k].bytes == mixed[k].bytes);
  }
}

}  // namespace tdsl::tests
