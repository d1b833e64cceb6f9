#include <algorithm>
#include <memory>
#include <string>

#include "runtime/plan/value/imposed.h"
#include "tests/runtime/engine/random.h"
#include "tests/runtime/simulated_world.h"

// Operands kept over super-blocks.

namespace tdsl::tests {

namespace {

constexpr Index kRowsEach = 64, kInner = 96, kWidth = 8;

double small_number(Index i, Index j) { return static_cast<double>((7 * i + 3 * j) % 11 - 5); }

/// P[i, c] = sum[j](W[i, j] * V[j, c]) + U[i, c] in tiles of 4 x 8. W is local, V cut into rows and read whole, U on
/// rank 0. Counts wrong elements.
Index run_walk(rt::World& world, RunSettings settings, RunResult* about) {
  const auto ranks = static_cast<Index>(world.size());
  settings.world = &world;
  settings.tile = {4, kWidth};
  auto wrong = std::make_shared<Index>(0);
  *about = run(settings, [&](TestSession& session) {
    const std::string p = std::to_string(ranks);
    const std::string head =
        "tdsl plan 1\nprogram \"test\" region 0 ranks " + p + " schedule none\nmesh a:" + p + "/1\n";
    session.inside().sink.impose(std::make_unique<plan::ImposedPlan>(std::make_shared<plan::PlanValue>(plan::parse_plan(
        head + "1 source \"W\" i:a\n2 source \"V\" i:a\n3 source \"U\" home 0\n4 reduce \"P\" i:a\n"))));
    session.inside().sink.enable_predictions(false);
    const auto source = [&](const char* name, Index rows, Index columns, int site) {
      plan::OpBuilder op(plan::OpClass::kSource, name, site, site);
      op.out("i", rows).out("j", columns);
      return session.compute<double>(op, [](const TaskArgs& t) {
        const auto out = t.out<double, 2>();
        for (Index i = t.lo(0); i < t.hi(0); ++i) {
          for (Index j = t.lo(1); j < t.hi(1); ++j) out(i, j) = small_number(i, j);
        }
      });
    };
    const Index n = kRowsEach * ranks;
    const Tensor<double> w = source("W", n, kInner, 1), v = source("V", kInner, kWidth, 2),
                         u = source("U", n, kWidth, 3);
    plan::OpBuilder op(plan::OpClass::kReduce, "P", 4, 4);
    op.out("i", n).out("c", kWidth).label("j", {0, kInner}).flops(2);
    op.read(w.id(), {plan::at(0), plan::whole()}).read(v.id(), {plan::whole(), plan::at(1)});
    op.read(u.id(), {plan::at(0), plan::at(1)});
    const Tensor<double> result = session.compute<double>(op, [wrong](const TaskArgs& t) {
      const auto W = t.in<double, 2>(0), V = t.in<double, 2>(1), U = t.in<double, 2>(2);
      const auto out = t.out<double, 2>();
      for (Index i = t.lo(0); i < t.hi(0); ++i) {
        for (Index c = t.lo(1); c < t.hi(1); ++c) {
          out(i, c) = U(i, c);
          double expected = small_number(i, c);
          for (Index j = 0; j < kInner; ++j) {
            out(i, c) += W(i, j) * V(j, c);
            expected += small_number(i, j) * small_number(j, c);
          }
          *wrong += out(i, c) == expected ? 0 : 1;
        }
      }
    });
    session.inside().complete();
    rt::EngineSink& sink = session.inside().sink;
    rt::check_counts(sink.predictions(), sink.engine().statistics(), sink.writes(), [](int line) {
      return rt::SourceLine{"test.tdsl", line};
    });
  });
  return *wrong;
}

}  // namespace

TEST_CASE("engine: an operand that every super-block reads arrives once") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  constexpr Index kV = kInner * kWidth * 8, kU = kRowsEach * kWidth * 8;  // bytes: of V, and of a rank's rows of U
  for (const int ranks : {2, 4, 8}) {
    for (const std::uint64_t schedule : {1, 2, 3}) {
      CAPTURE(ranks);
      CAPTURE(schedule);
      const auto p = static_cast<Index>(ranks);
      RunSettings settings;
      settings.small_box = schedule == 1 ? 0 : 8192;
      settings.window = 1;
      for (bool fits = false; !fits;) {
        Simulation simulation(ranks, schedule, schedule == 3 && ranks > 2 ? 2 : 0);
        Index wrong = 0;
        try {
          simulation.run([&](rt::World& world) {
            RunResult about;
            wrong += run_walk(world, settings, &about);
          });
          fits = true;
        } catch (const rt::RunError& error) {
          const Index legal = legal_window(error);
          REQUIRE(legal > settings.window);
          settings.window = legal;
          continue;
        }
        CHECK(wrong == 0);
        // A task assembles V and its rows of W.
        CHECK(settings.window < kV + 4 * kInner * 8 + kV * (p - 1) / p + kU / 8);
        for (int rank = 0; rank < ranks; ++rank)
          CHECK(simulation.traffic(rank).bytes_received == kV * (p - 1) / p + (rank > 0 ? kU : 0));
      }
      failed_runs().clear();
    }
  }
}

}  // namespace tdsl::tests
