#include <algorithm>
#include <utility>

#include "tests/runtime/allocations.h"
#include "tests/runtime/engine/harness.h"

// Iterations that repeat: the same values, counts and memory as planned and submitted ones.

namespace tdsl::tests {

namespace {

Tensor<double> ramp(TestSession& session, Index n) {
  plan::OpBuilder op(plan::OpClass::kSource, "u", 1, 1);
  op.out("i", n);
  return session.compute<double>(op, [](const TaskArgs& args) {
    const auto out = args.out<double, 1>();
    for (Index i = args.lo(0); i < args.hi(0); ++i) out(i) = static_cast<double>(i * i % 11);
  });
}

/// u[1:-1] = (u[:-2] + u[2:]) / 2: an update that reads neighbours, in other blocks, too.
Tensor<double> smoothed(TestSession& session, const Tensor<double>& u) {
  const Index n = u.extent(0);
  plan::OpBuilder op(plan::OpClass::kMap, "u", 2, 2);
  op.label("i", {0, n - 2}).write({n}, {{0, 1, 1}}).base(u.id()).read(u.id(), {plan::near(0, 0, 3)}).flops(2);
  return session.compute<double>(op.divisible(), [](const TaskArgs& args) {
    const auto in = args.in<double, 1>(0);
    const auto out = args.out<double, 1>();
    for (Index i = args.lo(0); i < args.hi(0); ++i) out(i + 1) = (in(i) + in(i + 2)) / 2;
  });
}

/// u + s, which may take over the blocks of u.
Tensor<double> shifted(TestSession& session, const Tensor<double>& u, const Tensor<double>& s) {
  plan::OpBuilder op(plan::OpClass::kMap, "v", 3, 3);
  op.out("i", u.extent(0)).read(u.id(), {plan::at(0)}).read(s.id(), {}).flops(1);
  return session.compute<double>(op.divisible().overwrites(), [](const TaskArgs& args) {
    const auto in = args.in<double, 1>(0);
    const auto out = args.out<double, 1>();
    const double s = args.in<double, 0>(1)();
    for (Index i = args.lo(0); i < args.hi(0); ++i) out(i) = in(i) + s;
  });
}

/// The sum, whose order follows from panels.
Tensor<double> total(TestSession& session, const Tensor<double>& u) {
  plan::OpBuilder op(plan::OpClass::kReduce, "s", 4, 4);
  op.write({}, {}).reduce("i", u.extent(0)).read(u.id(), {plan::at(0)}).combine(plan::Combine::kNone).flops(1);
  return session.compute<double>(op, [](const TaskArgs& args) {
    const auto in = args.in<double, 1>(0);
    double value = args.fresh ? 0 : args.out<double, 0>()();
    for (Index i = args.lo(0); i < args.hi(0); ++i) value += in(i) / 7;
    args.out<double, 0>()() = value;
  });
}

/// Result and counts of 30 iterations.
struct Outcome {
  std::vector<double> values;
  std::vector<std::pair<int, std::int64_t>> tasks;  ///< by site
  std::vector<double> flops;
  std::int64_t repeated = 0;
  friend bool operator==(const Outcome& a, const Outcome& b) {
    return a.values == b.values && a.tasks == b.tasks && a.flops == b.flops;
  }
};

using Body = std::function<void(TestSession&, Tensor<double>&, Index)>;

Outcome outcome(RunSettings settings, bool replay, Index n, const Body& body) {
  Outcome found;
  const auto declare = settings.declare;
  settings.declare = [&](rt::ProgramInfo& info, rt::AppOptions& options) {
    declare(info, options);
    options.no_replay = !replay;
  };
  const auto result = values<double>();
  const RunResult ran = run(settings, [&](TestSession& session) {
    Tensor<double> u = ramp(session, n);
    session.for_loop(0, 30, 1, [&](Index k) { body(session, u, k); });
    session.collect(u, result);
    found.repeated = session.inside().sink.repeats().repeated;
  });
  found.values = *result;
  for (const rt::SiteStatistics& site : ran.sites) {
    found.tasks.emplace_back(site.site, site.tasks);
    found.flops.push_back(site.flops);
  }
  return found;
}

bool runs_alone() { return rt::World(rt::read_environment()).size() == 1; }

const Body kStep = [](TestSession& session, Tensor<double>& u, Index) {
  u = smoothed(session, u);
  u = shifted(session, u, total(session, u));
};

}  // namespace

TEST_CASE("engine: iterations that repeat have the values and counts of submitted ones") {
  for (const int threads : {1, 2}) {
    for (const std::vector<Index>& tile : {std::vector<Index>{}, {1}, {4}, {100}}) {
      RunSettings settings{threads, tile};
      settings.adjust = [](rt::RunSetup& setup) { setup.engine_options.grain = 10; };
      const Outcome repeated = outcome(settings, true, 23, kStep), submitted = outcome(settings, false, 23, kStep);
      CHECK(repeated == submitted);
      CHECK(submitted.repeated == 0);
      CHECK(repeated.repeated == (runs_alone() ? 27 : 0));
    }
  }
}

TEST_CASE("engine: iterations of two forms repeat, and those that change do not") {
  const Body alternating = [](TestSession& session, Tensor<double>& u, Index k) {
    u = smoothed(session, u);
    if (k % 3 == 0) u = shifted(session, u, total(session, u));
  };
  const Outcome repeated = outcome({1, {4}}, true, 23, alternating);
  CHECK(repeated == outcome({1, {4}}, false, 23, alternating));
  CHECK(repeated.repeated == (runs_alone() ? 25 : 0));
  const Body moving = [](TestSession& session, Tensor<double>& u, Index k) {
    plan::OpBuilder op(plan::OpClass::kMap, "u", 5, 5);
    op.label("i", {0, 1}).write({u.extent(0)}, {{0, 1, k % 23}}).base(u.id()).flops(0);
    u = session.compute<double>(op, [k](const TaskArgs& args) {
      if (args.hit) args.out<double, 1>()(k % 23) = static_cast<double>(-k);
    });
  };
  const Outcome moved = outcome({1, {4}}, true, 23, moving);
  CHECK(moved == outcome({1, {4}}, false, 23, moving));
  CHECK(moved.repeated == 0);
}

TEST_CASE("engine: a kernel that fails in a repeated iteration ends the run with its message") {
  if (!runs_alone()) return;
  const Body failing = [](TestSession& session, Tensor<double>& u, Index k) {
    plan::OpBuilder op(plan::OpClass::kMap, "u", 6, 6);
    op.out("i", u.extent(0)).read(u.id(), {plan::at(0)}).flops(0);
    u = session.compute<double>(op, [k](const TaskArgs& args) {
      if (k == 20) throw rt::RunError("iteration 20 fails [internal-error]");
      args.out<double, 1>()(args.lo(0)) = 0;
    });
  };
  CHECK_THROWS_WITH_AS((void)outcome({1, {}}, true, 4, failing), "iteration 20 fails [internal-error]", rt::RunError);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

TEST_CASE("engine: an iteration that repeats allocates fewer objects, fewer than three for a task") {
  if (!runs_alone()) return;
  const auto per_iteration = [](Index n, bool replay) {
    std::size_t begin = 0;
    std::size_t end = 0;
    (void)outcome({1, {1}}, replay, n, [&](TestSession& session, Tensor<double>& u, Index k) {
      if (k == 10) begin = allocations();
      if (k == 29) end = allocations();
      plan::OpBuilder op(plan::OpClass::kMap, "u", 7, 7);
      op.out("i", n).read(u.id(), {plan::at(0)}).flops(1);
      u = session.compute<double>(
          op, [](const TaskArgs& args) { args.out<double, 1>()(args.lo(0)) = args.in<double, 1>(0)(args.lo(0)) + 1; });
    });
    return static_cast<double>(end - begin) / 19;
  };
  const double one = per_iteration(1, true);
  const double many = per_iteration(32, true);
  MESSAGE("allocations of an iteration: ", one, " with 1 task, ", many,
          " with 32; submitted: ", per_iteration(1, false), ", ", per_iteration(32, false));
  CHECK(one < per_iteration(1, false));
  CHECK(many - one < 31 * 3);
}

#endif

}  // namespace tdsl::tests
