#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "runtime/base/shared_loop.h"
#include "tests/runtime/allocations.h"
#include "tests/runtime/engine/harness.h"

// Small steps: their threads and allocations.

namespace tdsl::tests {

namespace {

/// x + 1 for a vector of `n` elements; `at_task` is called by every task.
Tensor<double> plus_one(TestSession& session, const Tensor<double>& x, const std::function<void()>& at_task) {
  plan::OpBuilder op(plan::OpClass::kMap, "x", 2, 2);
  op.out("i", x.extent(0)).read(x.id(), {plan::at(0)}).flops(1);
  return session.compute<double>(op, [at_task](const TaskArgs& args) {
    const auto in = args.in<double, 1>(0);
    const auto out = args.out<double, 1>();
    for (Index i = args.lo(0); i < args.hi(0); ++i) out(i) = in(i) + 1;
    at_task();
  });
}

Tensor<double> start_of_steps(TestSession& session, Index n) {
  plan::OpBuilder op(plan::OpClass::kSource, "x", 1, 1);
  op.out("i", n);
  return session.compute<double>(op, [](const TaskArgs& args) {
    const auto out = args.out<double, 1>();
    for (Index i = args.lo(0); i < args.hi(0); ++i) out(i) = 0;
  });
}

/// Threads that have run tasks.
class SeenThreads {
 public:
  void note() {
    const std::lock_guard lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    changed_.notify_all();
  }
  /// Waits until as many have been seen; false after 20 s.
  bool wait_for(std::size_t threads) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return threads_.size() >= threads; });
  }
  [[nodiscard]] std::set<std::thread::id> threads() const { return threads_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::thread::id> threads_;
};

}  // namespace

TEST_CASE("engine: steps below a grain stay on the program's thread, whatever the number of threads") {
  if (rt::World(rt::read_environment()).size() > 1) return;  // an idle rank polls, and its polling thread takes tasks
  for (const std::vector<Index>& tile : {std::vector<Index>{}, {8}}) {
    SeenThreads seen;
    RunSettings settings{3, tile};
    settings.adjust = [](rt::RunSetup& setup) { setup.engine_options.grain = 10; };
    const auto result = values<double>();
    run(settings, [&](TestSession& session) {
      Tensor<double> x = start_of_steps(session, 32);
      for (int k = 0; k < 200; ++k) x = plus_one(session, x, [&seen] { seen.note(); });
      session.collect(x, result);
    });
    CHECK(*result == std::vector<double>(32, 200.0));
    CHECK(seen.threads() == std::set{std::this_thread::get_id()});
  }
}

TEST_CASE("engine: workers start with the first work above a grain, and share it") {
  SeenThreads seen;
  bool both = true;
  RunSettings settings{2, {8}};
  settings.adjust = [](rt::RunSetup& setup) {
    setup.engine_options.grain = 1e-3;
    setup.engine_options.machine.flop_rate = 1;  // every task is predicted to take seconds
  };
  const auto result = values<double>();
  run(settings, [&](TestSession& session) {
    const Index ranks = session.inside().sink.planner().inputs().ranks;
    Tensor<double> x = plus_one(session, start_of_steps(session, 64 * ranks), [&] {
      seen.note();
      if (!seen.wait_for(2)) both = false;
    });
    session.collect(x, result);
  });
  CHECK(both);
  CHECK(std::ranges::all_of(*result, [](double value) { return value == 1; }));
}

TEST_CASE("engine: threads without a task help with a kernel's loop") {
  SeenThreads seen;
  std::atomic<bool> both = true;
  const auto result = values<double>();
  run(RunSettings{2, {}}, [&](TestSession& session) {
    plan::OpBuilder op(plan::OpClass::kMap, "y", 2, 2);
    const Tensor<double> x = start_of_steps(session, 64);
    op.out("i", 64).uncut().read(x.id(), {plan::whole()}).flops(1);
    const Tensor<double> y = session.compute<double>(op, [&](const TaskArgs& args) {
      const auto out = args.out<double, 1>();
      rt::shared_loop::run(args.hi(0), [&](Index k) {
        seen.note();
        if (!seen.wait_for(2)) both = false;
        out(k) = static_cast<double>(k);
      });
    });
    session.collect(y, result);
  });
  CHECK(both);
  for (std::size_t k = 0; k < result->size(); ++k) CHECK((*result)[k] == static_cast<double>(k));
}

TEST_CASE("engine: an exception of an iteration ends the run") {
  if (rt::World(rt::read_environment()).size() > 1) return;  // the other ranks have an exception of their own
  const auto fails = [] {
    run(RunSettings{3, {}}, [](TestSession& session) {
      plan::OpBuilder op(plan::OpClass::kMap, "y", 2, 2);
      const Tensor<double> x = start_of_steps(session, 8);
      op.out("i", 8).uncut().read(x.id(), {plan::whole()}).flops(1);
      const Tensor<double> y = session.compute<double>(op, [](const TaskArgs&) {
        rt::shared_loop::run(100, [](Index k) {
          if (k == 50) throw rt::RunError("iteration 50");
        });
      });
      session.collect(y, values<double>());
    });
  };
  CHECK_THROWS_WITH_AS(fails(), doctest::Contains("iteration 50"), rt::RunError);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

TEST_CASE("engine: an iteration in the steady state allocates few objects, no buffers and less than five for a task") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  // Tiles of one element: the second program has 32 times the tasks of the first.
  const auto per_iteration = [](Index n) {
    const auto of_steps = [n](int steps) {
      RunSettings settings{1, {1}};
      const auto result = values<double>();
      const std::size_t before = allocations();
      run(settings, [&](TestSession& session) {
        Tensor<double> x = start_of_steps(session, n);
        for (int k = 0; k < steps; ++k) x = plus_one(session, x, [] {});
        session.collect(x, result);
      });
      return allocations() - before;
    };
    return static_cast<double>(of_steps(110) - of_steps(10)) / 100;
  };
  const double one = per_iteration(1);
  const double many = per_iteration(32);
  MESSAGE("allocations of an iteration: ", one, " with 1 task, ", many, " with 32");
  CHECK(one < 75);
  CHECK(many - one < 31 * 5);  // entries of the tasks' blocks
}

#endif

}  // namespace tdsl::tests
