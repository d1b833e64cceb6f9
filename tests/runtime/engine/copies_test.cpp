#include <atomic>
#include <cmath>
#include <cstring>

#include "runtime/plan/value/imposed.h"
#include "tests/runtime/engine/harness.h"
#include "tests/runtime/simulated_world.h"

// Tensors with copies on several groups of ranks.

namespace tdsl::tests {

namespace {

constexpr Index kRanks = 8;
constexpr Index kRows = 20, kColumns = 12;

/// Imposes a layout given as lines; axes a and b have rank strides 4 and 2, c has stride 1.
void impose(TestSession& session, const std::string& lines) {
  const std::string head = "tdsl plan 1\nprogram \"test\" region 0 ranks 8 schedule none\nmesh a:2/4 b:2/2 c:2/1\n";
  session.inside().sink.impose(
      std::make_unique<plan::ImposedPlan>(std::make_shared<plan::PlanValue>(plan::parse_plan(head + lines))));
  session.inside().sink.enable_predictions(false);
}

/// A source at its own site, with numbers whose sums depend on the order.
Tensor<double> uneven(TestSession& session, Index rows, Index columns, int site) {
  plan::OpBuilder op(plan::OpClass::kSource, "S", site, site);
  op.out("i", rows).out("j", columns);
  return session.compute<double>(op, [site](const TaskArgs& t) {
    const auto out = t.out<double, 2>();
    for (Index i = t.lo(0); i < t.hi(0); ++i) {
      for (Index j = t.lo(1); j < t.hi(1); ++j)
        out(i, j) = std::sin(static_cast<double>(site + 31 * i + 17 * j)) * std::exp(static_cast<double>((i + j) % 23));
    }
  });
}

/// Runs `program` on simulated ranks, and compares predictions with counts.
void simulate(std::uint64_t seed, const RunSettings& settings, const std::function<void(TestSession&)>& program) {
  Simulation simulation(kRanks, seed);
  simulation.run([&](rt::World& world) {
    RunSettings mine = settings;
    mine.world = &world;
    run(mine, [&](TestSession& session) {
      program(session);
      session.inside().complete();
      rt::EngineSink& sink = session.inside().sink;
      rt::check_counts(sink.predictions(), sink.engine().statistics(), sink.writes(), [](int line) {
        return rt::SourceLine{"test.tdsl", line};
      });
    });
  });
}

}  // namespace

TEST_CASE("engine: copies of a result are equal bit for bit, wherever their operands came from") {
  if (rt::World(rt::read_environment()).size() > 1) return;  // once is enough
  constexpr Index n = 48;
  for (const std::vector<Index>& tile : {std::vector<Index>{}, {6}, {24}}) {
    std::vector<std::shared_ptr<std::vector<double>>> products, updated;
    RunSettings settings;
    settings.tile = tile;
    simulate(1, settings, [&](TestSession& session) {
      impose(session,
             "1 source \"A\" i:a j:c\n"
             "2 source \"B\" i:c j:b\n"
             "3 contraction \"C\" i:a j:b repeated\n"
             "4 map \"U\" i:a j:b repeated\n");
      const Tensor<double> a = uneven(session, n, n, 1), b = uneven(session, n, n, 2);
      plan::OpBuilder op(plan::OpClass::kContraction, "C", 3, 3);
      op.out("i", n).out("j", n).reduce("k", n).combine(plan::Combine::kSum).flops(2);
      op.read(a.id(), {plan::at(0), plan::at(2)}).read(b.id(), {plan::at(2), plan::at(1)});
      const Tensor<double> c = session.contraction<double>(op);
      products.push_back(values<double>());
      session.collect(c, products.back(), 900);
      // Half of its rows are updated with sums of other rows.
      plan::OpBuilder update(plan::OpClass::kReduce, "U", 4, 4);
      update.label("i", {0, n / 2}).label("j", {0, n}).label("k", {0, n});
      update.write({n, n}, {{0, 2, 0}, {1, 1, 0}}).base(c.id());
      update.op().reduce.push_back({2, -1});
      update.read(a.id(), {plan::at(0), plan::at(2)}).read(b.id(), {plan::at(2), plan::at(1)});
      const Tensor<double> u = session.compute<double>(update, [](const TaskArgs& t) {
        const auto x = t.in<double, 2>(0), y = t.in<double, 2>(1);
        const auto out = t.out<double, 2>();
        for (Index i = t.lo(0); i < t.hi(0); ++i) {
          for (Index j = t.lo(1); j < t.hi(1); ++j) {
            for (Index k = t.lo(2); k < t.hi(2); ++k) out(2 * i, j) += x(i, k) * y(k, j);
          }
        }
      });
      updated.push_back(values<double>());
      session.collect(u, updated.back(), 901);
    });
    // Every rank has read its own copy.
    for (const auto* found : {&products, &updated}) {
      REQUIRE(found->size() == kRanks);
      for (const auto& copy : *found)
        CHECK(std::memcmp(copy->data(), found->front()->data(), n * n * sizeof(double)) == 0);
    }
    double most = 0;
    for (const double x : *products.front()) most = std::max(most, std::abs(x));
    CHECK(most > 1);
  }
}

TEST_CASE("engine: a tensor in copies is stored once") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  for (const char* layout :
       {"i:a j:b repeated", "i:ba repeated", "j:c repeated", "i:c j:a repeated", "everywhere", "i:a j:bc"}) {
    CAPTURE(layout);
    std::vector<std::atomic<int>> written(kRows * kColumns);
    std::atomic<int> right = 0;
    simulate(2, {}, [&](TestSession& session) {
      impose(session, "1 source \"A\" " + std::string(layout) + "\n");
      const Tensor<double> a = matrix<double>(session, "A", kRows, kColumns,
                                              [](Index i, Index j) { return static_cast<double>(i * kColumns + j); });
      plan::OpBuilder use(plan::OpClass::kMap, "M", 2, 2);
      use.out("i", kRows).out("j", kColumns).read(a.id(), {plan::at(0), plan::at(1)});
      const Tensor<bool> used =
          session.compute<bool>(use, [](const TaskArgs& t) { rt::fill<bool>(t.outputs[0], true); });
      session.inside().impl.keep([&](const TaskArgs& t) {
        const auto in = t.in<double, 2>(0);
        for (Index i = t.lo(0); i < t.hi(0); ++i) {
          for (Index j = t.lo(1); j < t.hi(1); ++j) {
            ++written[static_cast<std::size_t>(i * kColumns + j)];
            if (in(i, j) == static_cast<double>(i * kColumns + j)) ++right;
          }
        }
      });
      session.inside().recorder.store("A", a, {3, 3});
    });
    for (const std::atomic<int>& times : written) CHECK(times == 1);
    CHECK(right == kRows * kColumns);
  }
}

}  // namespace tdsl::tests
