#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <numeric>

#include "runtime/plan/steps/tree.h"
#include "tests/runtime/engine/random.h"
#include "tests/runtime/simulated_world.h"

// The protocol under many schedules: random programs on simulated ranks.

namespace tdsl::tests {

namespace {

struct Cluster {
  int ranks = 1;
  int ranks_per_node = 0;  ///< 0: a single node
};

struct Simulated {
  Index wrong = 0;
  Index largest_step = 0;
  Index needed_memory = 0;
  Index peak_bytes = 0;
};

/// One run of the program of `seed`; `schedule` seeds the network.
Simulated simulate(const Cluster& cluster, std::uint32_t seed, std::uint64_t schedule, const RunSettings& settings) {
  Simulation simulation(cluster.ranks, schedule, cluster.ranks_per_node);
  Simulated sum;
  simulation.run([&](rt::World& world) {
    RunSettings mine = settings;
    mine.world = &world;
    RunResult about;
    sum.wrong += run_random(seed, mine, &about);
    sum.largest_step = std::max(sum.largest_step, about.largest_step);
    sum.needed_memory = std::max(sum.needed_memory, about.needed_memory);
    sum.peak_bytes = std::max(sum.peak_bytes, about.peak_bytes);
  });
  return sum;
}

/// The same with the least legal window not below the largest step of the first plan.
Simulated simulate_in_least_window(const Cluster& cluster, std::uint32_t seed, std::uint64_t schedule,
                                   RunSettings settings, Index window) {
  while (true) {
    settings.window = std::max<Index>(window, 1);
    try {
      return simulate(cluster, seed, schedule, settings);
    } catch (const rt::RunError& error) {
      const Index legal = legal_window(error);
      if (legal <= window) throw;
      window = legal;
    }
  }
}

/// The same with the least memory: a plan within less memory reports its need.
Simulated simulate_in_least_memory(const Cluster& cluster, std::uint32_t seed, std::uint64_t schedule,
                                   RunSettings settings) {
  Index memory = 1;
  while (true) {
    settings.adjust = [memory](rt::RunSetup& setup) {
      setup.plan_inputs.memory = memory;
      setup.engine_options.memory_bytes = memory;
    };
    Simulated result = simulate(cluster, seed, schedule, settings);
    if (result.needed_memory <= memory) {
      result.needed_memory = memory;
      return result;
    }
    memory = result.needed_memory;
  }
}

}  // namespace

TEST_CASE("engine: random programs in simulation") {
  if (rt::World(rt::read_environment()).size() > 1) return;  // once is enough
  // TDSL_TEST_SIMULATIONS=FIRST:LAST selects other seeds.
  std::uint32_t first = 1;
  std::uint32_t last = 100;
  if (const char* range = std::getenv("TDSL_TEST_SIMULATIONS")) std::sscanf(range, "%u:%u", &first, &last);
  const int rank_counts[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 16};
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
    settings.read_in_place = seed % 3 == 0 ? 1 + seed % 200 : 0;
    std::vector<int> node_sizes{0};
    for (int n = 2; n < ranks; ++n) {
      if (ranks % n == 0) node_sizes.push_back(n);
    }
    const Cluster cluster{ranks, node_sizes[random() % node_sizes.size()]};
    CAPTURE(cluster.ranks_per_node);
    try {
      const Simulated free = simulate(cluster, seed, seed, settings);
      CHECK(free.wrong == 0);
      CHECK(simulate_in_least_window(cluster, seed, seed + 1, settings, free.largest_step).wrong == 0);
      const Simulated tight = simulate_in_least_memory(cluster, seed, seed + 2, settings);
      CHECK(tight.wrong == 0);
      CHECK(tight.peak_bytes <= tight.needed_memory);
      settings.plan_seed = seed;
      const Simulated planned = simulate(cluster, seed, seed + 3, settings);
      CHECK(planned.wrong == 0);
      CHECK(simulate_in_least_window(cluster, seed, seed + 4, settings, planned.largest_step).wrong == 0);
      const Simulated tightly_planned = simulate_in_least_memory(cluster, seed, seed + 5, settings);
      CHECK(tightly_planned.wrong == 0);
      CHECK(tightly_planned.peak_bytes <= tightly_planned.needed_memory);
    } catch (const std::exception& error) { FAIL_CHECK(std::string(error.what())); }
  }
}

TEST_CASE("engine: random owner tables in simulation") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  for (std::uint32_t seed = 3; seed <= 90; seed += 3) {
    CAPTURE(seed);
    RunSettings settings;
    const Cluster cluster{std::array{2, 3, 4, 7, 9, 16}[seed % 6], seed % 4 == 0 ? 2 : 0};
    settings.plan_seed = seed;
    settings.tile = seed % 2 == 0 ? std::vector<Index>{} : std::vector<Index>{1};
    try {
      const Simulated free =
          simulate({cluster.ranks, cluster.ranks % 2 == 0 ? cluster.ranks_per_node : 0}, seed, seed, settings);
      CHECK(free.wrong == 0);
      // Chunks of the ranks' lists.
      CHECK(simulate_in_least_window({cluster.ranks, 0}, seed, seed + 1, settings, 1).wrong == 0);
    } catch (const std::exception& error) { FAIL_CHECK(std::string(error.what())); }
  }
}

namespace {

/// Bytes each rank sent, and received from other nodes, counted and predicted.
struct Sent {
  std::vector<Index> counted;
  std::vector<plan::Range> predicted;
  std::vector<Index> entered;
  std::vector<plan::Range> predicted_to_enter;
  [[nodiscard]] Index most() const { return *std::max_element(counted.begin(), counted.end()); }
};

Sent sent(const Cluster& cluster, const RunSettings& settings, const std::function<void(TestSession&)>& program) {
  Simulation simulation(cluster.ranks, 1, cluster.ranks_per_node);
  Sent result;
  result.predicted.resize(static_cast<std::size_t>(cluster.ranks));
  result.predicted_to_enter.resize(static_cast<std::size_t>(cluster.ranks));
  simulation.run([&](rt::World& world) {
    RunSettings mine = settings;
    mine.world = &world;
    run(mine, [&](TestSession& session) {
      session.inside().sink.enable_predictions(false);
      program(session);
      session.inside().recorder.flush();
      for (const auto& [site, prediction] : session.inside().sink.predictions().sites()) {
        result.predicted[static_cast<std::size_t>(world.rank())] += prediction.bytes_sent;
        result.predicted_to_enter[static_cast<std::size_t>(world.rank())] += prediction.bytes_from_other_nodes;
      }
    });
  });
  for (int rank = 0; rank < cluster.ranks; ++rank) {
    result.counted.push_back(simulation.traffic(rank).bytes_sent);
    result.entered.push_back(simulation.traffic(rank).bytes_from_other_nodes);
  }
  return result;
}

/// i - j, not a source, because sources may be computed on every rank that uses them.
Tensor<double> computed(TestSession& session, Index rows, Index columns) {
  const Tensor<double> source =
      matrix<double>(session, "S", rows, columns, [](Index i, Index j) { return static_cast<double>(i - j); });
  plan::OpBuilder op(plan::OpClass::kMap, "B", 2, 2);
  op.out("i", rows).out("j", columns).read(source.id(), {plan::at(0), plan::at(1)});
  return session.compute<double>(op, [](const TaskArgs& t) {
    const auto in = t.in<double, 2>(0);
    const auto out = t.out<double, 2>();
    for (Index i = t.lo(0); i < t.hi(0); ++i) {
      for (Index j = t.lo(1); j < t.hi(1); ++j) out(i, j) = in(i, j);
    }
  });
}

void check_prediction(const Sent& sent) {
  for (std::size_t rank = 0; rank < sent.counted.size(); ++rank) {
    CAPTURE(rank);
    CHECK(sent.predicted[rank].lo == sent.predicted[rank].hi);
    CHECK(sent.predicted[rank].lo == static_cast<double>(sent.counted[rank]));
    CHECK(sent.predicted_to_enter[rank].lo == sent.predicted_to_enter[rank].hi);
    CHECK(sent.predicted_to_enter[rank].lo == static_cast<double>(sent.entered[rank]));
  }
}

/// C = A B with these sizes, and a use of C.
void product(TestSession& session, const Tensor<double>& a, const Tensor<double>& b,
             const std::array<Index, 3>& sizes) {
  const auto [m, n, k] = sizes;
  plan::OpBuilder op(plan::OpClass::kContraction, "C", 3, 3);
  op.out("i", m)
      .out("j", n)
      .reduce("k", k)
      .read(a.id(), {plan::at(0), plan::at(2)})
      .read(b.id(), {plan::at(2), plan::at(1)});
  op.combine(plan::Combine::kSum).flops(2);
  const Tensor<double> c = session.contraction<double>(op);
  plan::OpBuilder use(plan::OpClass::kMap, "U", 4, 4);
  use.out("i", m).out("j", n).read(c.id(), {plan::at(0), plan::at(1)});
  const Tensor<bool> used = session.compute<bool>(use, [](const TaskArgs& t) { rt::fill<bool>(t.outputs[0], true); });
}

constexpr std::array<Index, 3> kProducts[] = {{48, 3, 5}, {160, 160, 160}, {3, 4, 96}};

}  // namespace

TEST_CASE("engine: a box for all ranks goes down a tree") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  for (const int ranks : {3, 4, 5, 7, 9, 12, 16}) {
    for (const Index small_box : {0, 100000}) {
      CAPTURE(ranks);
      CAPTURE(small_box);
      constexpr Index n = 20;
      RunSettings settings;
      settings.tile = {1000};
      settings.small_box = small_box;
      std::vector<std::shared_ptr<std::vector<double>>> found;
      const Sent all = sent({ranks}, settings, [&](TestSession& session) {
        found.push_back(values<double>());
        session.collect(computed(session, n, n), found.back());
      });
      for (const auto& values : found) CHECK((*values)[1] == -1);
      const Index box = n * n * static_cast<Index>(sizeof(double));
      const auto others = static_cast<std::uint64_t>(ranks - 1);
      CHECK(all.most() == box * (ranks - 1 < plan::kLeastTree ? ranks - 1 : std::bit_width(others)));
      CHECK(std::accumulate(all.counted.begin(), all.counted.end(), Index{0}) == box * (ranks - 1));
      check_prediction(all);
    }
  }
}

TEST_CASE("engine: what products send on many ranks is predicted") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  for (const int ranks : {5, 7, 9, 12, 16}) {
    Index most = 0;
    for (const std::array<Index, 3>& sizes : kProducts) {
      CAPTURE(ranks);
      CAPTURE(sizes[0]);
      const Sent all = sent({ranks}, {}, [&sizes](TestSession& session) {
        product(session, computed(session, sizes[0], sizes[2]), computed(session, sizes[2], sizes[1]), sizes);
      });
      check_prediction(all);
      most = std::max(most, all.most());
    }
    CHECK(most > 0);
  }
}

TEST_CASE("engine: bytes that enter a node or are sent within it are predicted") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  for (const Cluster& cluster :
       {Cluster{4, 2}, {6, 2}, {6, 3}, {8, 2}, {8, 4}, {9, 3}, {12, 2}, {12, 3}, {12, 4}, {16, 2}, {16, 4}}) {
    CAPTURE(cluster.ranks);
    CAPTURE(cluster.ranks_per_node);
    for (const std::array<Index, 3>& sizes : kProducts) {
      CAPTURE(sizes[0]);
      check_prediction(sent(cluster, {}, [&sizes](TestSession& session) {
        product(session, computed(session, sizes[0], sizes[2]), computed(session, sizes[2], sizes[1]), sizes);
      }));
    }
    // A box needed by all ranks enters every other node once.
    constexpr Index n = 20;
    RunSettings one_tile;
    one_tile.tile = {1000};
    std::vector<std::shared_ptr<std::vector<double>>> found;
    const Sent all = sent(cluster, one_tile, [&](TestSession& session) {
      found.push_back(values<double>());
      session.collect(computed(session, n, n), found.back());
    });
    for (const auto& values : found) CHECK((*values)[1] == -1);
    const Index box = n * n * static_cast<Index>(sizeof(double));
    const Index nodes = cluster.ranks / cluster.ranks_per_node;
    CHECK(std::accumulate(all.entered.begin(), all.entered.end(), Index{0}) == box * (nodes - 1));
    CHECK(*std::max_element(all.entered.begin(), all.entered.end()) == box);
    CHECK(std::accumulate(all.counted.begin(), all.counted.end(), Index{0}) == box * (cluster.ranks - 1));
    check_prediction(all);
    // A transposed copy, tile by tile.
    check_prediction(sent(cluster, {}, [](TestSession& session) {
      constexpr Index rows = 130, columns = 90;
      const Tensor<double> source = computed(session, rows, columns);
      plan::OpBuilder op(plan::OpClass::kMap, "T", 3, 3);
      op.out("i", columns).out("j", rows).read(source.id(), {plan::at(1), plan::at(0)});
      const Tensor<bool> used =
          session.compute<bool>(op, [](const TaskArgs& t) { rt::fill<bool>(t.outputs[0], true); });
    }));
  }
}

TEST_CASE("engine: the ranks of a node share a product as a square does") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  constexpr Index n = 160;
  RunSettings settings;
  // Makes bytes alone determine the grid.
  settings.adjust = [](rt::RunSetup& setup) {
    setup.plan_inputs.machine.latency = setup.plan_inputs.machine.task_overhead = 0;
  };
  const Sent all = sent({16, 4}, settings, [](TestSession& session) {
    const auto source = [&](const char* name) {
      return matrix<double>(session, name, n, n, [](Index i, Index j) { return static_cast<double>(i - j); });
    };
    product(session, source("A"), source("B"), {n, n, n});
  });
  // 2 x 2 of the 4 x 4 ranks: half of A and half of B, of which the node owns a quarter. In row-major order it would be
  // 3/4 n^2.
  for (std::size_t node = 0; node < 4; ++node) {
    const auto first = all.entered.begin() + static_cast<std::ptrdiff_t>(4 * node);
    CHECK(std::accumulate(first, first + 4, Index{0}) == static_cast<Index>(sizeof(double)) * n * n / 2);
  }
  check_prediction(all);
}

}  // namespace tdsl::tests
