#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/shared_loop.h"
#include "runtime/engine/delays.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/messages/answers.h"
#include "runtime/engine/messages/boundary_messages.h"
#include "runtime/engine/messages/exchange.h"
#include "runtime/engine/messages/fetches.h"
#include "runtime/engine/messages/leases.h"
#include "runtime/engine/messages/notices.h"
#include "runtime/engine/tasks/admission.h"
#include "runtime/engine/tasks/call.h"
#include "runtime/engine/tasks/operations.h"
#include "runtime/engine/tasks/ready_queue.h"
#include "runtime/engine/tasks/repeats.h"
#include "runtime/engine/tasks/tasks.h"
#include "runtime/engine/team.h"
#include "runtime/engine/watch/watching.h"

// The parts of an engine and the threads that drive them. One lock (Context::mutex) protects all parts; kernels, copies
// and MPI run outside it.

namespace tdsl::rt {

/// State of a rank's threads. Protected by the lock, except `waits_for`.
struct Workers {
  int running = 0;             ///< running kernels
  bool program_works = false;  ///< the program's thread is outside the engine
  bool polling = false;        ///< a thread polls for the idle rank
  bool was_idle = false;       ///< no poll has made progress and no task has run since `idle_since`
  double idle_since = 0;
  double asked_to_stop = 0;                               ///< when EngineOptions::stop was called last
  bool stopping = false;                                  ///< the program has returned
  std::atomic<const char*> waits_for{"the other ranks"};  ///< reason for idleness
  std::optional<Team> team;                               ///< the workers, once they have started (Note [Workers])
};

/// Accessed without the lock.
struct Polls {
  std::atomic<double> last{0};             ///< start time of the last poll
  std::atomic<std::size_t> backlog{0};     ///< control messages not yet sent by MPI at the last poll
  std::atomic<bool> includes_disk{false};  ///< polls handle completed transfers; false: the disk's threads do
};

/// Unwinds the program's thread after a failure; Engine::run throws the run's RunError instead.
struct RunStopped {};

struct Engine::State {
  State(World& world, Store& store, plan::TensorLookup outside, EngineOptions options);

  // run_task.cpp: operations become steps, steps become tasks, tasks run.
  void submit(std::shared_ptr<const plan::PlannedOp> op, Kernel kernel, const std::vector<plan::TensorId>& last_names,
              Lend lend);
  void admit();
  void admit_step(OperationRun& operation);
  void run_task(Lock& lock, TaskRun& task);
  double execute(Lock& lock, TaskRun& task);
  void repeat(std::span<Repeat> segment);
  void run_kernels(const TaskRun& task, Call& call);
  void run_inspection(Lock& lock, TaskRun& task);
  /// Runs a kernel's loop, with the help of threads that have no task. Called by the kernel, without the lock.
  void run_shared(plan::Index count, const shared_loop::Body& body);
  /// Helps with a loop of another thread's kernel (ReadyQueue::shares). Called and returns with the lock held.
  void help(Lock& lock);
  template <class Work>
  void run_unlocked(Lock& lock, const Work& work);
  void complete(TaskRun& task);
  void end_task(OperationRun& operation, Index step);
  void check_block(const TaskRun& task, Index bytes) const;

  // progress.cpp: MPI and the disk. Called without the lock, except functions called while it is held.
  bool poll();
  void poll_in_kernel() noexcept;
  bool poll_once(Transport& access);
  void post(Transport& access, const Posting& posting);
  bool take_disk();
  void on_disk_completion(int thread) noexcept;
  void end_transfer(const DiskTransfer& transfer);
  void take_completion(const Completion& completion);
  void take_message(const ControlMessage& message);
  void take_pack(const ControlMessage& message);
  void arrive(RemotePiece& piece);
  void call_due(const std::vector<Notices::Action>& due);

  // workers.cpp: threads.
  template <class Done>
  void work_until(Done done);
  void work();
  /// `done`: the condition of the program's thread; null: a worker is idle.
  void idle(Lock& lock, const std::function<bool()>* done);
  /// True if an idle thread polls.
  [[nodiscard]] bool must_poll() const { return !context.single() || polls.includes_disk; }
  void begin_workers();
  void start_workers();
  void end_workers();
  void ask_to_stop(Lock& lock);

  [[nodiscard]] RankStatus status();
  void settle();

  Context context;
  Delays delays;
  ReadyQueue ready{context};
  Tracer tracer{context};
  SiteCounts profile;
  Outbox outbox{context};
  InFlight in_flight{context};
  Failure failure{context, outbox, ready};
  Footprint footprint{context};
  SizedTransfers sized{context, footprint, outbox, in_flight};
  DiskTransfers disk{context, footprint, profile};
  Relays relays;
  Lists lists{context, footprint, outbox, in_flight, profile};
  Leases leases{context, outbox, in_flight, profile};
  Fetches fetches{context, footprint, outbox, sized, disk, relays, lists, leases};
  Answers answers{context, outbox, in_flight, sized, disk, relays, lists, leases};
  Admission admission{context, footprint, in_flight, sized, disk, relays, lists};
  Operations operations;
  Tasks tasks{context, footprint, ready, operations, answers, disk};
  KernelCalls calls{context, footprint, profile,
                    [this](const TaskRun& task, Index bytes) { check_block(task, bytes); }};
  Repeats repeats{context, footprint, profile, operations, tasks};
  std::vector<std::unique_ptr<Call>> spare_calls;  ///< empty; their lists keep memory for later tasks
  Exchanges exchanges{context, outbox};
  Notices notices{context, outbox};
  Boundaries boundaries{context.me, context.world.size()};
  Watching watching{context, outbox};
  Workers workers;
  Polls polls;
};

/// Runs tasks until `done()`, which is asked under the lock, by any thread, and again after it was true.
template <class Done>
void Engine::State::work_until(Done done) {
  const std::function<bool()> over = [&done] { return done(); };
  try {
    Lock lock(context.mutex);
    IdleTime waiting(context, profile, tracer);
    workers.program_works = false;
    bool idled = false;
    while (!done() && !failure.failed()) {
      if (context.options.stop) ask_to_stop(lock);
      if (TaskRun* task = ready.pop()) {
        workers.was_idle = false;
        waiting.end();
        run_task(lock, *task);
      } else if (ready.shares()) {
        waiting.end();
        help(lock);
      } else {
        waiting.begin();
        idled = true;
        idle(lock, &over);
      }
    }
    if (!failure.failed()) ready.offer(false);
    if (idled && must_poll() && !workers.polling) ready.wake_worker();  // this thread has polled for a sleeping one
    workers.program_works = true;
  } catch (...) {
    // Unlike an exception of the program itself, a task's failure occurs on this rank only: the other ranks must be
    // told.
    failure.fail(std::current_exception());
  }
  if (failure.failed()) throw RunStopped{};
}

}  // namespace tdsl::rt
