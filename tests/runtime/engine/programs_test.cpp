#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "tests/runtime/engine/harness.h"

// Programs other than products, as recorded by the compiler: stencils, partial reductions, in-place updates, loops.

namespace tdsl::tests {

namespace {

Tensor<double> vector_of(TestSession& session, const std::string& name, Index n, std::function<double(Index)> value) {
  plan::OpBuilder op(plan::OpClass::kSource, name, 1, 1);
  op.out("i", n);
  return session.compute<double>(op, [value = std::move(value)](const TaskArgs& args) {
    const auto out = args.out<double, 1>();
    for (Index i = args.lo(0); i < args.hi(0); ++i) out(i) = value(i);
  });
}

/// U[i] = (U[i - 1] + U[i + 1]) / 2 for i in 1..n-1, on a copy of the old values.
Tensor<double> jacobi_step(TestSession& session, const Tensor<double>& u) {
  const Index n = u.extent(0);
  plan::OpBuilder op(plan::OpClass::kMap, "U", 3, 3);
  op.label("i", {1, n - 1}).write({n}, {{0, 1, 0}}).base(u.id()).read(u.id(), {plan::near(0, -1, 2)}).flops(2);
  return session.compute<double>(op, [](const TaskArgs& args) {
    const auto old = args.in<double, 1>(0);
    const auto out = args.out<double, 1>();
    for (Index i = args.lo(0); i < args.hi(0); ++i) out(i) = (old(i - 1) + old(i + 1)) / 2;
  });
}

/// A reduction of a vector to one scalar, such as s = sum[i](x[i]).
template <class F>
Tensor<double> reduce(TestSession& session, const Tensor<double>& x, plan::Combine combine, double identity,
                      F combine_two) {
  plan::OpBuilder op(plan::OpClass::kReduce, "s", 4, 4);
  op.write({}, {}).reduce("i", x.extent(0)).read(x.id(), {plan::at(0)}).combine(combine);
  return session.compute<double>(op, [identity, combine_two](const TaskArgs& args) {
    const auto in = args.in<double, 1>(0);
    double value = args.fresh ? identity : args.out<double, 0>()();
    for (Index i = args.lo(0); i < args.hi(0); ++i) value = combine_two(value, in(i));
    args.out<double, 0>()() = value;
  });
}

double plus(double a, double b) { return a + b; }

std::vector<double> jacobi(Index n, int steps) {
  std::vector<double> u(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = static_cast<double>(i * i % 11);
  for (int step = 0; step < steps; ++step) {
    const std::vector<double> old = u;
    for (std::size_t i = 1; i + 1 < u.size(); ++i) u[i] = (old[i - 1] + old[i + 1]) / 2;
  }
  return u;
}

}  // namespace

TEST_CASE("engine: neighbours across blocks and ranks, in a loop") {
  for (const std::vector<Index>& tile : {std::vector<Index>{}, {1}, {4}, {100}}) {
    for (const std::uint64_t seed : {0U, 5U}) {
      RunSettings settings{2, tile};
      settings.delay_seed = seed;
      const auto result = values<double>();
      run(settings, [&](TestSession& session) {
        Tensor<double> u = vector_of(session, "u", 23, [](Index i) { return static_cast<double>(i * i % 11); });
        session.for_loop(0, 20, 1, [&](Index) { u = jacobi_step(session, u); });
        session.collect(u, result);
      });
      CHECK(*result == jacobi(23, 20));
    }
  }
}

TEST_CASE("engine: reductions, also in parts") {
  for (const Index n : {0, 1, 5, 1000, 100000}) {
    for (const std::vector<Index>& tile : {std::vector<Index>{}, {3000}}) {
      double sum = -1;
      double most = -1;
      run({2, tile}, [&](TestSession& session) {
        const Tensor<double> x = vector_of(session, "x", n, [](Index i) { return static_cast<double>(i % 1013); });
        sum = session.read(reduce(session, x, plan::Combine::kSum, 0, plus), 5, 5);
        most = session.read(
            reduce(session, x, plan::Combine::kMax, -1, [](double a, double b) { return std::max(a, b); }), 6, 6);
      });
      double expected = 0;
      for (Index i = 0; i < n; ++i) expected += static_cast<double>(i % 1013);
      CHECK(sum == expected);
      CHECK(most == (n == 0 ? -1 : std::min<double>(static_cast<double>(n - 1), 1012)));
    }
  }
}

TEST_CASE("engine: an update of a slice keeps the rest and reuses the block when nothing else needs it") {
  const Index n = 24;
  const auto kept = values<double>();
  const auto changed = values<double>();
  const auto again = values<double>();
  run({2, {5}}, [&](TestSession& session) {
    Tensor<double> a =
        matrix<double>(session, "A", n, n, [](Index i, Index j) { return static_cast<double>(100 * i + j); });
    const auto update = [&](const Tensor<double>& old, Index lo, Index hi, double value) {
      plan::OpBuilder op(plan::OpClass::kMap, "A", 3, 3);
      op.label("i", {lo, hi}).label("j", {0, n}).write({n, n}, {{0, 1, 0}, {1, 1, 0}}).base(old.id());
      op.read(old.id(), {plan::at(0), plan::at(1)});
      return session.compute<double>(op, [value](const TaskArgs& args) {
        const auto in = args.in<double, 2>(0);
        const auto out = args.out<double, 2>();
        for (Index i = args.lo(0); i < args.hi(0); ++i) {
          for (Index j = args.lo(1); j < args.hi(1); ++j) out(i, j) = in(i, j) + value;
        }
      });
    };
    Tensor<double> b = update(a, 2, 9, 0.5);
    session.collect(a, kept);
    session.collect(b, changed);
    a.release();
    for (int step = 0; step < 10; ++step) b = update(b, 0, 20, 1);
    session.collect(b, again);
  });
  Index wrong = 0;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(i * n + j);
      const double original = static_cast<double>(100 * i + j);
      const double once = original + (i >= 2 && i < 9 ? 0.5 : 0);
      wrong += (*kept)[at] != original || (*changed)[at] != once || (*again)[at] != once + (i < 20 ? 10 : 0) ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("engine: an in-place update needs no second copy") {
  const Index n = 512;
  const RunResult result = run({1, {}}, [&](TestSession& session) {
    Tensor<double> a = matrix<double>(session, "A", n, n, [](Index i, Index j) { return static_cast<double>(i + j); });
    session.for_loop(0, 50, 1, [&](Index) {
      plan::OpBuilder op(plan::OpClass::kMap, "A", 3, 3);
      op.out("i", n).out("j", n).base(a.id());
      a = session.compute<double>(op, [](const TaskArgs& args) {
        const auto out = args.out<double, 2>();
        for (Index i = args.lo(0); i < args.hi(0); ++i) {
          for (Index j = args.lo(1); j < args.hi(1); ++j) out(i, j) += 1;
        }
      });
    });
  });
  CHECK(result.peak_bytes <= n * n * 8 + 4096);
}

TEST_CASE("engine: a map takes over the block of an operand that it reads only where it writes") {
  const Index n = 512;
  const auto next = [](TestSession& session, const Tensor<double>& a, const plan::DimAccess& rows) {
    plan::OpBuilder op(plan::OpClass::kMap, "A", 3, 3);
    op.out("i", a.extent(0)).out("j", a.extent(1)).read(a.id(), {plan::at(0), plan::at(1)});
    op.read(a.id(), {rows, plan::at(1)}).divisible().overwrites();
    return session.compute<double>(op, [](const TaskArgs& args) {
      const auto in = args.in<double, 2>(0);
      const auto out = args.out<double, 2>();
      for (Index i = args.lo(0); i < args.hi(0); ++i) {
        for (Index j = args.lo(1); j < args.hi(1); ++j) out(i, j) = in(i, j) + 1;
      }
    });
  };
  const auto peak = [&](const plan::DimAccess& rows) {
    return run({1, {}},
               [&](TestSession& session) {
                 Tensor<double> a = matrix<double>(session, "A", n, n, [](Index, Index) { return 1.0; });
                 session.for_loop(0, 10, 1, [&](Index) { a = next(session, a, rows); });
               })
        .peak_bytes;
  };
  const Index taken_over = peak(plan::at(0));
  CHECK(taken_over <= n * n * 8 + 4096);
  CHECK(peak(plan::fixed(0, 1)) > 2 * (taken_over - 4096));
}

TEST_CASE("engine: a map leaves the block of an operand that is still needed") {
  const auto kept = values<double>();
  const auto made = values<double>();
  run({2, {5}}, [&](TestSession& session) {
    Tensor<double> x = vector_of(session, "x", 23, [](Index i) { return static_cast<double>(i); });
    const auto twice = [&](const Tensor<double>& from) {
      plan::OpBuilder op(plan::OpClass::kMap, "y", 3, 3);
      op.out("i", 23).read(from.id(), {plan::at(0)}).divisible().overwrites();
      return session.compute<double>(op, [](const TaskArgs& args) {
        const auto in = args.in<double, 1>(0);
        const auto out = args.out<double, 1>();
        for (Index i = args.lo(0); i < args.hi(0); ++i) out(i) = 2 * in(i);
      });
    };
    Tensor<double> y = twice(x);
    for (int step = 0; step < 3; ++step) y = twice(y);
    session.collect(x, kept);
    session.collect(y, made);
  });
  for (std::size_t i = 0; i < 23; ++i) {
    CHECK((*kept)[i] == static_cast<double>(i));
    CHECK((*made)[i] == 16 * static_cast<double>(i));
  }
}

TEST_CASE("engine: a thousand dependent iterations steered by a value") {
  double last = 0;
  Index iterations = 0;
  const RunResult result = run({2, {}}, [&](TestSession& session) {
    Tensor<double> x = vector_of(session, "x", 64, [](Index) { return 1.0; });
    double norm = 64;
    session.while_loop([&] { return norm > 1e-2 && iterations < 1000; },
                       [&](Index) {
                         plan::OpBuilder op(plan::OpClass::kMap, "x", 3, 3);
                         op.out("i", 64).read(x.id(), {plan::at(0)});
                         x = session.compute<double>(op, [](const TaskArgs& args) {
                           const auto in = args.in<double, 1>(0);
                           const auto out = args.out<double, 1>();
                           for (Index i = args.lo(0); i < args.hi(0); ++i) out(i) = in(i)*0.999;
                         });
                         norm = session.read(reduce(session, x, plan::Combine::kSum, 0, plus), 5, 5);
                         ++iterations;
                       });
    last = norm;
  });
  CHECK(iterations == 1000);
  CHECK(last == doctest::Approx(64 * std::pow(0.999, 1000)));
  CHECK(result.peak_bytes < 64 * 1024);
}

TEST_CASE("engine: every window down to the smallest gives the same product") {
  const Index n = 60;
  const auto program = [&](const std::shared_ptr<std::vector<double>>& c) {
    return [=](TestSession& session) {
      Tensor<double> a =
          matrix<double>(session, "A", n, n, [](Index i, Index j) { return static_cast<double>((i + 2 * j) % 9); });
      plan::OpBuilder op(plan::OpClass::kContraction, "C", 2, 2);
      op.out("i", n).out("j", n).reduce("k", n);
      op.read(a.id(), {plan::at(0), plan::at(2)}).read(a.id(), {plan::at(2), plan::at(1)});
      op.combine(plan::Combine::kSum).flops(2);
      session.collect(session.contraction<double>(op), c);
    };
  };
  const auto expected = values<double>();
  run({1, {10}}, program(expected));
  CHECK(std::count(expected->begin(), expected->end(), 0.0) == 0);
  Index window = 1;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto c = values<double>();
    RunSettings settings{2, {10}};
    settings.window = window;
    settings.delay_seed = static_cast<std::uint64_t>(attempt);
    try {
      run(settings, program(c));
      CHECK(*c == *expected);
      window *= 2;
    } catch (const rt::RunError& error) {
      // The error names the least legal value.
      const std::string text = error.what();
      CAPTURE(text);
      REQUIRE(error.exit_code() == 2);
      window = std::stoll(text.substr(text.rfind("--window ") + 9));
      CHECK(window > 1);
    }
  }
}

TEST_CASE("engine: a failing kernel ends the run on every rank with its message") {
  int rank = 0;
  int failing = 0;
  int reports = 0;
  std::string seen;
  RunSettings settings{2, {}};
  settings.adjust = [&](rt::RunSetup& setup) {
    rank = setup.world.rank();
    failing = setup.world.size() - 1;
    setup.engine_options.report = [&](const rt::RunError&) { ++reports; };
  };
  try {
    run(settings, [&](TestSession& session) {
      plan::OpBuilder op(plan::OpClass::kMap, "x", 3, 3);
      op.replicated().write({}, {});
      Tensor<double> x = session.compute<double>(op, [&](const TaskArgs& args) {
        args.out<double, 0>()() = 1;
        if (rank == failing) throw rt::RunError(rt::SourceLine{"test.tdsl", 12}, "integer division by zero");
      });
      static_cast<void>(session.read(x, 4, 4));
    });
  } catch (const rt::RunError& error) {
    seen = error.what();
    CHECK(error.exit_code() == 1);
  }
  CHECK(seen == "test.tdsl:12: integer division by zero");
  CHECK(reports == (rank == 0 ? 1 : 0));
}

/// A file per rank on this machine, named after the launcher: says that the rank's kernel is running.
std::string running_file(int rank) {
  return std::filesystem::temp_directory_path() /
         ("tdsl-running-" + std::to_string(::getppid()) + "-" + std::to_string(rank));
}

void wait_until_running(int ranks) {
  for (int k = 1; k < ranks; ++k) {
    for (int waited = 0; !std::filesystem::exists(running_file(k)) && waited < 20'000; ++waited)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::filesystem::remove(running_file(k));
  }
}

TEST_CASE("engine: after a failure, rank 0 counts what running kernels of other ranks note") {
  int rank = 0, ranks = 0, counted = 0, ends = 0, counted_at_end = 0;
  RunSettings settings{2, {}};
  settings.adjust = [&](rt::RunSetup& setup) {
    rank = setup.world.rank();
    ranks = setup.world.size();
    setup.engine_options.report = [](const rt::RunError&) {};
    setup.engine_options.ended = [&] {
      ++ends;
      counted_at_end = counted;
    };
  };
  const auto program = [&](TestSession& session) {
    rt::Engine& engine = session.inside().sink.engine();
    if (rank == 0) {
      engine.expect_notes(7, ranks, [&] { ++counted; });
      engine.expect_notes(8, 1, [&] { ++counted; });  // never noted
    }
    plan::OpBuilder op(plan::OpClass::kMap, "x", 3, 3);
    op.replicated().write({}, {});
    Tensor<double> x = session.compute<double>(op, [&](const TaskArgs& args) {
      args.out<double, 0>()() = 1;
      if (rank != 0) {
        std::ofstream(running_file(rank)).flush();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      } else {
        wait_until_running(ranks);
      }
      engine.note(7, 1);
      if (rank == 0) throw rt::RunError("rank 0 fails");
    });
    static_cast<void>(session.read(x, 4, 4));
  };
  CHECK_THROWS_WITH_AS(run(settings, program), "rank 0 fails", rt::RunError);
  CHECK(ends == (rank == 0 ? 1 : 0));
  CHECK(counted_at_end == (rank == 0 ? 1 : 0));
}

}  // namespace tdsl::tests
