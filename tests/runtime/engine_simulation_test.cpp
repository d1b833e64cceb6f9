#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <numeric>

#include "runtime/plan/tree.h"
#include "tests/runtime/engine_random.h"
#include "tests/runtime/simulated_world.h"

// The protocol under many schedules: random programs on simulated ranks.

namespace tdsl::tests {

namespace {

struct Simulated {
  Index wrong = 0;
  Index largest_step = 0;
  Index needed_memory = 0;
  Index peak_bytes = 0;
};

/// One run of the program of `seed`; `schedule` decides about the network.
Simulated simulate(int ranks, std::uint32_t seed, std::uint64_t schedule, const RunSettings& settings) {
  Simulation simulation(ranks, schedule);
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

/// The same in the least memory: a plan for less says what it needs.
Simulated simulate_in_least_memory(int ranks, std::uint32_t seed, std::uint64_t schedule, RunSettings settings) {
  Index memory = 1;
  while (true) {
    settings.adjust = [memory](rt::Session::Impl::Setup& setup) {
      setup.plan_inputs.memory = memory;
      setup.engine_options.memory_bytes = memory;
    };
    Simulated result = simulate(ranks, seed, schedule, settings);
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
  // TDSL_TEST_SIMULATIONS=FIRST:LAST runs other seeds.
  std::uint32_t first = 1;
  std::uint32_t last = 100;
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
      const Simulated tight = simulate_in_least_memory(ranks, seed, seed + 2, settings);
      CHECK(tight.wrong == 0);
      CHECK(tight.peak_bytes <= tight.needed_memory);
    } catch (const std::exception& error) {
      FAIL_CHECK(std::string(error.what()));
    }
  }
}

namespace {

/// What every rank sent, counted and predicted.
struct Sent {
  std::vector<Index> counted;
  std::vector<plan::Range> predicted;
  [[nodiscard]] Index most() const { return *std::max_element(counted.begin(), counted.end()); }
};

Sent sent(int ranks, const RunSettings& settings, const std::function<void(TestSession&)>& program) {
  Simulation simulation(ranks, 1);
  Sent result;
  result.predicted.resize(static_cast<std::size_t>(ranks));
  simulation.run([&](rt::World& world) {
    RunSettings mine = settings;
    mine.world = &world;
    run(mine, [&](TestSession& session) {
      session.inside().predictions.enable(world.rank());
      program(session);
      session.inside().flush();
      for (const auto& [site, prediction] : session.inside().predictions.sites()) {
        result.predicted[static_cast<std::size_t>(world.rank())] += prediction.bytes_sent;
      }
    });
  });
  for (int rank = 0; rank < ranks; ++rank) result.counted.push_back(simulation.traffic(rank).bytes_sent);
  return result;
}

/// i - j, not a source: those may be computed on every rank that uses them.
Tensor<double> computed(TestSession& session, Index rows, Index columns) {
  const Tensor<double> source = matrix<double>(session, "S", rows, columns, [](Index i, Index j) { return static_cast<double>(i - j); });
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
  }
}

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
      const Sent all = sent(ranks, settings, [&](TestSession& session) {
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
    for (const auto& [m, n, k] : {std::array<Index, 3>{48, 3, 5}, {160, 160, 160}, {3, 4, 96}}) {
      CAPTURE(ranks);
      CAPTURE(m);
      RunSettings settings;
      const Sent all = sent(ranks, settings, [m = m, n = n, k = k](TestSession& session) {
        const Tensor<double> a = computed(session, m, k);
        const Tensor<double> b = computed(session, k, n);
        plan::OpBuilder op(plan::OpClass::kContraction, "C", 3, 3);
        op.out("i", m).out("j", n).reduce("k", k).read(a.id(), {plan::at(0), plan::at(2)}).read(b.id(), {plan::at(2), plan::at(1)});
        op.combine(plan::Combine::kSum).flops(2);
        const Tensor<double> c = session.contraction<double>(op);
        plan::OpBuilder use(plan::OpClass::kMap, "U", 4, 4);
        use.out("i", m).out("j", n).read(c.id(), {plan::at(0), plan::at(1)});
        const Tensor<bool> used = session.compute<bool>(use, [](const TaskArgs& t) { rt::fill<bool>(t.outputs[0], true); });
      });
      check_prediction(all);
      most = std::max(most, all.most());
    }
    CHECK(most > 0);
  }
}

}  // namespace tdsl::tests
