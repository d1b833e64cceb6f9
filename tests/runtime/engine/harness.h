#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/app/report/statistics.h"
#include "runtime/app/session/session_impl.h"
#include "runtime/base/environment.h"
#include "runtime/emitted.h"
#include "runtime/engine/store/shared_windows.h"
#include "tests/runtime/random_plan.h"

// Runs programs, recorded as by emitted code, on all ranks of the test, and gathers their tensors on every rank.

namespace tdsl::tests {

using plan::Index;
using rt::TaskArgs;
using rt::Tensor;

/// How a program is run.
struct RunSettings {
  int threads = 1;
  std::vector<Index> tile;
  Index window = 0;
  std::uint64_t delay_seed = 0;
  Index small_box = rt::EngineOptions{}.small_box;
  Index read_in_place = 0;      ///< least bytes that ranks of a node read in place; 0: they are sent
  std::uint64_t plan_seed = 0;  ///< if not 0, every operation has a random layout
  bool check_counts = true;     ///< also for random layouts: counts must equal predictions
  rt::World* world = nullptr;   ///< of a simulation; null: the launcher's
  /// Sets the program's declarations and command line.
  std::function<void(rt::ProgramInfo&, rt::AppOptions&)> declare = [](rt::ProgramInfo&, rt::AppOptions&) {};
  /// Modifies the complete RunSetup: for settings without a field here.
  std::function<void(rt::RunSetup&)> adjust = [](rt::RunSetup&) {};
  std::shared_ptr<void> beside = nullptr;  ///< objects that a failed run needs until it is released
};

/// Results of a finished run.
struct RunResult {
  std::vector<rt::SiteStatistics> sites;
  Index peak_bytes = 0;
  rt::Silence silence;
  Index largest_step = 0;
  Index needed_memory = 0;  ///< as reported by the planner, with a limit
  Index largest_buffer = 0;
};

class TestSession : public rt::Session {
 public:
  explicit TestSession(rt::Execution& inside) : Session(inside.impl), inside_(inside) {}

  /// Fills `values` with all elements of the tensor (C order) on every rank after the run.
  template <rt::Element T>
  void collect(const Tensor<T>& tensor, std::shared_ptr<std::vector<T>> values, int site = 900) {
    const record::TensorState& state = tensor.state();
    values->assign(static_cast<std::size_t>(state.desc.elements()), T{});
    plan::OpBuilder op(plan::OpClass::kControl, "collect", site, 0);
    op.write({}, {}).replicated();
    std::vector<plan::DimAccess> dims(state.desc.shape.size(), plan::whole());
    op.read(tensor.id(), std::move(dims));
    Tensor<bool> done = compute<bool>(op, [values](const TaskArgs& args) {
      const auto* from = reinterpret_cast<const T*>(args.inputs[0].data);
      for (std::size_t i = 0; i < values->size(); ++i) (*values)[i] = from[i];
    });
    kept_.push_back(done);
  }
  rt::Execution& inside() { return inside_; }
  void let_go() { kept_.clear(); }

 private:
  rt::Execution& inside_;
  std::vector<rt::TensorHandle> kept_;
};

/// A run: everything that messages in flight may refer to.
struct Machinery {
  std::shared_ptr<void> beside;
  std::unique_ptr<rt::World> launched;
  rt::Store store;
  rt::ProgramInfo info;
  rt::AppOptions options;
  std::unique_ptr<rt::SessionInputs> inputs;
  std::unique_ptr<rt::Execution> execution;
  std::unique_ptr<TestSession> session;
};

/// Failed runs: their messages may still arrive, so they are kept until the process ends.
inline std::vector<std::unique_ptr<Machinery>>& failed_runs() {
  static auto* const runs = new std::vector<std::unique_ptr<Machinery>>();
  return *runs;
}

/// Runs the program on every rank and checks that no block is left.
inline RunResult run(const RunSettings& settings, const std::function<void(TestSession&)>& program) {
  auto m = std::make_unique<Machinery>();
  m->beside = settings.beside;
  if (settings.world == nullptr) m->launched = std::make_unique<rt::World>(rt::read_environment());
  rt::World& world = settings.world != nullptr ? *settings.world : *m->launched;
  m->info = rt::ProgramInfo("test", "test.tdsl", "");
  if (settings.read_in_place > 0) {
    std::string refused;
    m->store.share(rt::SharedWindows::open(world, refused, settings.read_in_place, Index{64} << 20));
    CHECK(refused.empty());
  }
  settings.declare(m->info, m->options);
  m->inputs = std::make_unique<rt::SessionInputs>(world, m->info, m->options);
  plan::PlanInputs plan;
  plan.ranks = world.size();
  plan.ranks_per_node = world.topology().ranks_per_node();
  plan.threads = settings.threads;
  plan.tile = settings.tile;
  plan.window = settings.window;
  rt::EngineOptions engine;
  engine.threads = settings.threads;
  engine.window_bytes = settings.window;
  engine.oversubscribed = settings.world == nullptr;
  engine.delay_seed = settings.delay_seed;
  engine.small_box = settings.small_box;
  rt::RunSetup setup{world, m->store, m->info, m->options, *m->inputs, plan, engine};
  settings.adjust(setup);
  m->execution = std::make_unique<rt::Execution>(setup);
  m->session = std::make_unique<TestSession>(*m->execution);
  rt::EngineSink& sink = m->execution->sink;
  if (settings.plan_seed != 0) {
    sink.impose(std::make_unique<RandomPlan>(settings.plan_seed, sink.planner().inputs()));
    sink.enable_predictions(false);
  }
  try {
    sink.engine().run([&] {
      program(*m->session);
      m->session->let_go();
      m->execution->finish();
    });
    sink.commit_outputs();
  } catch (...) {
    failed_runs().push_back(std::move(m));
    throw;
  }
  if (settings.plan_seed != 0 && settings.check_counts)
    rt::check_counts(sink.predictions(), sink.engine().statistics(), sink.writes(), [](int line) {
      return rt::SourceLine{"test.tdsl", line};
    });
  const RunResult result{sink.engine().statistics(),
                         m->store.peak_bytes(),
                         sink.engine().silence(),
                         sink.planner().largest_step(),
                         sink.planner().needed_memory().bytes,
                         m->store.largest_buffer_bytes()};
  CHECK(sink.engine().live_blocks() == 0);
  CHECK(m->store.live_buffers() == 0);
  world.access()->barrier();
  return result;
}

/// A tensor with the given value at every index, computed according to the plan: `value(i, j, …)`.
template <class T>
Tensor<T> matrix(TestSession& session, const std::string& name, Index rows, Index columns,
                 std::function<T(Index, Index)> value) {
  plan::OpBuilder op(plan::OpClass::kSource, name, 1, 1);
  op.out("i", rows).out("j", columns);
  return session.compute<T>(op, [value = std::move(value)](const TaskArgs& args) {
    const auto out = args.out<T, 2>();
    for (Index i = args.lo(0); i < args.hi(0); ++i) {
      for (Index j = args.lo(1); j < args.hi(1); ++j) out(i, j) = value(i, j);
    }
  });
}

template <class T>
std::shared_ptr<std::vector<T>> values() {
  return std::make_shared<std::vector<T>>();
}

}  // namespace tdsl::tests
