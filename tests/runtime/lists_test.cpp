#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/value/imposed.h"
#include "tests/runtime/simulated_world.h"
#include "tests/runtime/stored_programs.h"

// Vectors of a graph, requested by lists of the rows that each rank's part of the graph meets.

namespace tdsl::tests {

namespace {

constexpr int kSite = 31;

/// A graph's adjacency, as a matrix file.
StoredFile file_of(const TemporaryFolder& folder, Index nodes, const std::map<std::pair<Index, Index>, double>& edges) {
  StoredFile file{folder / "A.mtx", nodes, nodes, edges};
  std::string text = "%%MatrixMarket matrix coordinate real general\n" + std::to_string(nodes) + " " +
                     std::to_string(nodes) + " " + std::to_string(edges.size()) + "\n";
  for (const auto& [at, value] : edges)
    text += std::to_string(at.first + 1) + " " + std::to_string(at.second + 1) + " " + std::to_string(value) + "\n";
  (void)folder.write("A.mtx", text);
  return file;
}

/// A square grid of nodes with their neighbours, numbered by rows.
StoredFile grid(const TemporaryFolder& folder, Index side) {
  std::map<std::pair<Index, Index>, double> edges;
  for (Index k = 0; k < side * side; ++k) {
    for (const Index other : {k - side, k + side, k % side > 0 ? k - 1 : -1, k % side + 1 < side ? k + 1 : -1}) {
      if (other >= 0 && other < side * side) edges[{k, other}] = static_cast<double>(1 + (k + other) % 3);
    }
  }
  return file_of(folder, side * side, edges);
}

/// Every node has neighbours anywhere.
StoredFile random_graph(const TemporaryFolder& folder, std::mt19937& random, Index nodes) {
  std::map<std::pair<Index, Index>, double> edges;
  for (Index k = 0; k < 40 * nodes; ++k)
    edges[{k % nodes, static_cast<Index>(random() % static_cast<std::uint64_t>(nodes))}] = 1;
  return file_of(folder, nodes, edges);
}

double modulo(double x) { return static_cast<double>(static_cast<Index>(x) % 101); }

/// A further operand of a step.
enum class Also : std::uint8_t { kNothing, kOwn };

/// x[i, c] = (x[i, c] + sum[j](A[i, j] * x[j, c])) mod 101, with the first summand only if asked for.
Tensor<double> step(TestSession& session, const Tensor<double>& a, const Tensor<double>& x, Also also) {
  plan::OpBuilder op(plan::OpClass::kMap, "x", kSite, 2);
  op.out("i", a.extent(0)).out("c", x.extent(1)).label("j", {0, a.extent(1)});
  op.read(a.id(), {plan::at(0), plan::walked(2)}).read(x.id(), {plan::at(2), plan::at(1)});
  if (also == Also::kOwn) op.read(x.id(), {plan::at(0), plan::at(1)});
  op.flops(2).visits(a.desc());
  return session.compute<double>(op, [also](const TaskArgs& t) {
    const auto A = rt::stored_in<double, 2>(t, 0);
    const auto x = t.in<double, 2>(1);
    const auto y = t.out<double, 2>();
    for (Index i = t.lo(0); i < t.hi(0); ++i) {
      for (Index c = t.lo(1); c < t.hi(1); ++c) y(i, c) = also == Also::kOwn ? t.in<double, 2>(2)(i, c) : 0.0;
    }
    A.rows({t.lo(0), t.hi(0)}, [&](const auto& row) {
      row.each([&](Index j, double value) {
        for (Index c = t.lo(1); c < t.hi(1); ++c) y(row.index(), c) += value * x(j, c);
      });
    });
    for (Index i = t.lo(0); i < t.hi(0); ++i) {
      for (Index c = t.lo(1); c < t.hi(1); ++c) y(i, c) = modulo(y(i, c));
    }
  });
}

/// Imposes a cut of all operations along their rows.
void cut_rows(TestSession& session, int ranks) {
  const std::string head = "tdsl plan 1\nprogram \"test\" region 0 ranks " + std::to_string(ranks) +
                           " schedule none\nmesh a:" + std::to_string(ranks) + "/1\n";
  const std::string rows = "1 source \"x\" i:a\n2 source \"w\" i:a\n13 map \"P\" i:a\n31 map \"x\" i:a\n";
  session.inside().sink.impose(
      std::make_unique<plan::ImposedPlan>(std::make_shared<plan::PlanValue>(plan::parse_plan(head + rows))));
}

struct ListsCase {
  Index columns = 1;
  Index steps = 5;
  Also also = Also::kNothing;
  bool changes = false;  ///< A is another tensor in every step
};

/// Sums over ranks for the steps' site.
struct Counted {
  Index received = 0, by_lists = 0, list_bytes = 0;
  int wrong = 0;
};

Counted run_steps(const StoredFile& file, const ListsCase& about, RunSettings settings, int ranks, std::uint64_t seed) {
  const Index n = file.rows, w = about.columns;
  const auto start = [w](Index i, Index c) { return static_cast<double>((i * w + c) % 89); };
  std::vector<double> expected(static_cast<std::size_t>(n * w));
  for (Index k = 0; k < n * w; ++k) expected[static_cast<std::size_t>(k)] = start(k / w, k % w);
  for (Index s = 0; s < about.steps; ++s) {
    std::vector<double> next = about.also == Also::kOwn ? expected : std::vector<double>(expected.size(), 0.0);
    for (const auto& [at, value] : file.elements) {
      for (Index c = 0; c < w; ++c)
        next[static_cast<std::size_t>(at.first * w + c)] +=
            value * expected[static_cast<std::size_t>(at.second * w + c)];
    }
    for (double& x : next) x = modulo(x);
    expected = std::move(next);
  }
  Counted counted;
  declare(settings, file);
  Simulation simulation(ranks, seed);
  simulation.run([&](rt::World& world) {
    RunSettings mine = settings;
    mine.world = &world;
    const auto result = values<double>();
    const RunResult done = run(mine, [&](TestSession& session) {
      session.inside().sink.enable_predictions(false);
      if (mine.plan_seed == 0 && mine.tile.empty()) cut_rows(session, ranks);
      Tensor<double> a = session.stored_input<double>("A", {n, n}, 10, 1);
      Tensor<double> x = matrix<double>(session, "x", n, w, start);
      const Tensor<double> ones = vector_of(session, "w", n, 2, [](Index) { return 1.0; });
      session.for_loop(0, about.steps, 1, [&](Index) {
        if (about.changes) a = stored::scaled(session, a, ones);
        x = step(session, a, x, about.also);
      });
      session.collect(x, result);
    });
    counted.wrong += *result != expected ? 1 : 0;
    for (const rt::SiteStatistics& site : done.sites) {
      if (site.site != kSite) continue;
      counted.received += site.bytes_received;
      counted.by_lists += site.bytes_by_lists;
      counted.list_bytes += site.list_bytes;
    }
  });
  return counted;
}

bool on_several_processes() { return rt::World(rt::read_environment()).size() > 1; }

}  // namespace

TEST_CASE("lists: a step over a grid receives the rows at the cut, in every step") {
  if (on_several_processes()) return;
  constexpr Index kSide = 24;
  for (const int ranks : {2, 4, 8}) {
    for (std::uint32_t seed = 1; seed <= 6; ++seed) {
      CAPTURE(ranks);
      CAPTURE(seed);
      const TemporaryFolder folder;
      const StoredFile file = grid(folder, kSide);
      RunSettings settings;
      settings.threads = 1;
      settings.small_box = seed % 2 == 0 ? 0 : 8192;
      settings.delay_seed = seed % 3 == 0 ? seed : 0;
      const ListsCase about{1 + seed % 3, 5, seed % 2 == 0 ? Also::kOwn : Also::kNothing, false};
      const Counted counted = run_steps(file, about, settings, ranks, seed);
      CHECK(counted.wrong == 0);
      // Both sides of every cut need the row of the grid on the other side.
      const Index halo = 2 * (ranks - 1) * kSide * 8 * about.columns;
      CHECK(counted.received >= about.steps * halo);
      CHECK(counted.received <= 3 * about.steps * halo);
      CHECK(counted.by_lists > 0);
      ListsCase longer = about;
      longer.steps = 9;
      CHECK(run_steps(file, longer, settings, ranks, seed).list_bytes == counted.list_bytes);
    }
  }
}

TEST_CASE("lists: a graph without locality has its vector sent whole") {
  if (on_several_processes()) return;
  for (const int ranks : {2, 4, 8}) {
    CAPTURE(ranks);
    const TemporaryFolder folder;
    std::mt19937 random(static_cast<std::uint32_t>(ranks));
    const StoredFile file = random_graph(folder, random, 300);
    const Counted counted = run_steps(file, {}, {}, ranks, 5);
    CHECK(counted.wrong == 0);
    CHECK(counted.by_lists == 0);
    CHECK(counted.list_bytes == 0);
    CHECK(counted.received == ListsCase().steps * (ranks - 1) * file.rows * 8);
  }
}

TEST_CASE("lists: a changed matrix has new lists") {
  if (on_several_processes()) return;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const TemporaryFolder folder;
    const StoredFile file = grid(folder, 16);
    const int ranks = static_cast<int>(2 + seed % 4);
    const Counted once = run_steps(file, {1, 4, Also::kNothing, false}, {}, ranks, seed);
    const Counted changing = run_steps(file, {1, 4, Also::kNothing, true}, {}, ranks, seed);
    CHECK(once.wrong + changing.wrong == 0);
    CHECK(changing.received <= 3 * 4 * 2 * (ranks - 1) * 16 * 8);
    CHECK(changing.list_bytes > once.list_bytes);
  }
}

TEST_CASE("lists: random layouts and tiles, under random schedules") {
  if (on_several_processes()) return;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const TemporaryFolder folder;
    std::mt19937 random(seed);
    const StoredFile file = seed % 4 == 0 ? random_graph(folder, random, 40) : grid(folder, 3 + seed % 7);
    RunSettings settings;
    settings.tile = std::vector<std::vector<Index>>{{}, {1}, {3}, {4, 7}, {100}}[random() % 5];
    settings.small_box = random() % 2 == 0 ? 0 : 8192;
    settings.delay_seed = random() % 3 == 0 ? seed : 0;
    const int ranks = static_cast<int>(1 + seed % 8);
    settings.plan_seed = random() % 2 == 0 && ranks > 1 ? seed : 0;
    const ListsCase about{1 + static_cast<Index>(random() % 3), 1 + static_cast<Index>(random() % 4),
                          random() % 2 == 0 ? Also::kOwn : Also::kNothing, random() % 3 == 0};
    CHECK(run_steps(file, about, settings, ranks, seed).wrong == 0);
  }
}

}  // namespace tdsl::tests
