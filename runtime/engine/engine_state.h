#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/check.h"
#include "runtime/disk/disk.h"
#include "runtime/engine/admission.h"
#include "runtime/engine/answers.h"
#include "runtime/engine/boundaries.h"
#include "runtime/engine/call.h"
#include "runtime/engine/delays.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/fetches.h"
#include "runtime/engine/footprint.h"
#include "runtime/engine/in_flight.h"
#include "runtime/engine/open_steps.h"
#include "runtime/engine/operation.h"
#include "runtime/engine/operations.h"
#include "runtime/engine/outbox.h"
#include "runtime/engine/ready_queue.h"
#include "runtime/engine/sized_transfers.h"
#include "runtime/engine/store/disk_transfers.h"
#include "runtime/engine/store/tensor_table.h"
#include "runtime/engine/tasks.h"
#include "runtime/engine/watch/heartbeat.h"
#include "runtime/engine/watch/profile.h"
#include "runtime/engine/watch/tracer.h"
#include "runtime/engine/wire.h"
#include "runtime/plan/steps/tree.h"

// The engine's insides, shared by its source files only: admission.cpp, answers.cpp, progress.cpp, tasks.cpp,
// workers.cpp, failure.cpp, engine.cpp. One lock protects all of it; kernels, copies and MPI run outside the lock.

namespace tdsl::rt {

/// Unwinds the program's thread after the run has failed; Engine::run turns it into the run's RunError.
struct RunStopped {};

struct Engine::State : Context {
  State(World& w, Store& s, plan::TensorLookup outside, EngineOptions o);

  Delays delays;

  void submit(std::shared_ptr<const plan::PlannedOp> op, Kernel kernel, const std::vector<plan::TensorId>& last_names,
              Lend lend);
  void admit();
  void admit_step(OperationRun& operation);

  // tasks.cpp: a task's life.
  void run_task(Lock& lock, TaskRun& task);
  void complete(TaskRun& task);
  void check_block(const TaskRun& task, Index bytes) const;

  ReadyQueue ready;
  Tracer tracer;
  Profile profile;
  Outbox outbox;
  InFlight in_flight;
  Footprint footprint;
  SizedTransfers sized;
  DiskTransfers disk;
  Relays relays;
  Fetches fetches;
  Answers answers;
  Admission admission;
  Operations operations;
  Tasks tasks;
  KernelCalls calls;
  Failure failure;

  // progress.cpp: MPI.
  bool poll();
  bool take_disk();
  void end_transfer(const DiskTransfer& transfer);
  void on_disk_completion(int thread) noexcept;
  std::atomic<bool> asks_disk{false};  ///< polls take completed transfers; false: the disk's threads do
  bool poll_once(World::Access& access);
  void post(World::Access& access, const Posting& posting);
  void take_completion(const Completion& completion);
  void arrive(RemotePiece& piece);
  void take_pack(const ControlMessage& message);
  void take_message(const ControlMessage& message);
  void poll_in_kernel() noexcept;
  std::atomic<double> last_poll{0};           ///< when it began
  std::map<Index, std::string> shared_texts;  ///< by sequence number
  Index shares = 0;

  // exchange.cpp
  void take_exchange(const ControlMessage& message);
  struct Exchange {
    Engine::Received from;
    int ended = 0;  ///< ranks that have sent everything
  };
  std::map<Index, Exchange> exchanges;  ///< by sequence number
  Index exchange_count = 0;
  std::atomic<std::size_t> control_backlog{
      0};  ///< control messages that MPI has not taken over, when it was last asked

  // boundaries.cpp
  void send_boundary(const Boundaries::Message& message);
  void take_boundary(const ControlMessage& message);
  Boundaries boundaries;
  // status.cpp, watching.cpp: what ranks say of themselves, and signs of life.
  [[nodiscard]] RankStatus status();
  void explain(const TaskRun& task, RankStatus& status);
  [[nodiscard]] std::optional<int> beat(const RankStatus& own);
  void look_for_standstill(const Pulse& all);
  [[nodiscard]] std::string whereabouts(const RankStatus& status) const;
  bool begin_roll(const std::string& reason, bool deadlock);
  void answer_roll(Index number);
  void take_answer(int rank, Index number, std::string text);
  int running = 0;                                        ///< kernels
  bool program_works = false;                             ///< the program's thread is between calls of the engine
  std::atomic<const char*> waits_for{"the other ranks"};  ///< a rank without work
  std::optional<Heartbeat> heart;
  Standstill standing, stuck;
  double beaten = -1;  ///< when the watching thread was here last
  struct Roll {
    Index number = 0;
    double asked = -1;    ///< when; below 0: nothing is asked now
    double ended = -1e9;  ///< the one before
    int missing = 0;
    RollCall call;
  };
  Roll roll;

  // workers.cpp: threads.
  template <class Done>
  void work_until(Done done);
  void work();
  void idle(Lock& lock);
  bool polling = false;   ///< a thread has taken on the polling of an idle rank
  bool was_idle = false;  ///< since `idle_since` no poll moved anything and no task ran
  double idle_since = 0;  ///< when that began
  bool stopping = false;  ///< the program has returned
};

template <class Done>
void Engine::State::work_until(Done done) {
  try {
    Lock lock(mutex);
    IdleTime waiting(*this, profile, tracer);
    program_works = false;
    while (!done() && !failure.failed()) {
      if (TaskRun* task = ready.pop()) {
        was_idle = false;
        waiting.end();
        run_task(lock, *task);
      } else {
        waiting.begin();
        idle(lock);
      }
    }
    program_works = true;
  } catch (...) {
    // A task's failure is this rank's alone; only what the program itself throws is known to all.
    failure.fail(std::current_exception());
  }
  if (failure.failed()) throw RunStopped{};
}

}  // namespace tdsl::rt
