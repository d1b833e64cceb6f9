#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "runtime/engine/context.h"
#include "runtime/engine/tasks/operation.h"

namespace tdsl::rt {

/// A loop of a running kernel whose iterations threads without a task join in running (base/shared_loop.h).
struct SharedLoop {
  plan::Index count = 0;
  const std::function<void(plan::Index)>* body = nullptr;
  std::atomic<plan::Index> next{0};  ///< the first iteration that no thread has taken
  // Under the lock:
  int helpers = 0;  ///< threads beside the task's that run iterations
  std::exception_ptr error;
  std::condition_variable left;

  /// Runs iterations until all are taken. Without the lock. An exception leaves out the iterations not taken yet.
  void run();
};

/// Ready tasks, oldest first, and the threads that sleep until there is work for them. Under the lock.
///
/// Note [Grain]
/// Waking a thread takes longer than a small task. So the thread that makes a task ready runs it itself if nothing
/// older is ready, and other threads are woken only for further work of at least one grain each (EngineOptions::grain).
/// Work is measured: the mean of the site's tasks so far, before the first one the prediction. Work below a grain is
/// never lost: it waits for the thread that made it ready, or for the program's thread, which runs tasks before it
/// sleeps.
class ReadyQueue {
 public:
  explicit ReadyQueue(const Context& context) : context_(context) {}

  /// One missing block, piece, panel or effect of the task has become available.
  void satisfy(TaskRun& task) {
    if (--task.missing == 0) push(task);
  }
  void push(TaskRun& task) {
    task.work = work_of(task);
    work_ += task.work;
    tasks_.push(&task);
  }
  /// Removes and returns the oldest task; null: none.
  [[nodiscard]] TaskRun* pop() {
    if (tasks_.empty()) return nullptr;
    TaskRun* const task = tasks_.top();
    tasks_.pop();
    work_ -= task->work;
    return task;
  }
  [[nodiscard]] bool empty() const { return tasks_.empty(); }
  /// Marks the piece as arrived and notifies the tasks that wait for it.
  void arrive(RemotePiece& piece) {
    piece.arrived = true;
    for (TaskRun* task : std::exchange(piece.waiting, {})) {
      task->last_request = piece.request;
      satisfy(*task);
    }
  }

  /// Wakes threads for ready work, one per grain; `takes`: the caller runs the oldest task next. Starts the workers
  /// with the first work that needs them.
  void offer(bool takes);
  /// Wakes a thread if there is a task: the caller will not look again soon.
  void offer_any() {
    if (!tasks_.empty() && woken_ == 0) wake_one();
  }
  /// The caller, which polls, takes the oldest task next: wakes another thread to poll if that task is long.
  void offer_poll();
  /// Wakes the program's thread if its condition holds.
  void tell_program() {
    if (awaited_ != nullptr && !program_woken_ && (*awaited_)()) wake_program();
  }
  /// False if no worker sleeps.
  bool wake_worker();
  /// Offers iterations of a loop to threads without a task, and wakes those that sleep.
  void share(SharedLoop& loop);
  /// True if some loop has iterations that no thread has taken.
  [[nodiscard]] bool shares() const { return std::ranges::any_of(loops_, has_rest); }
  /// The first such loop, which the caller joins; null if the last one has meanwhile been taken.
  [[nodiscard]] SharedLoop* join() {
    const auto found = std::ranges::find_if(loops_, has_rest);
    if (found == loops_.end()) return nullptr;
    ++(*found)->helpers;
    return *found;
  }
  static void leave(SharedLoop& loop) {
    if (--loop.helpers == 0) loop.left.notify_all();
  }
  /// All iterations are taken: waits until the threads that joined have left.
  void end(Lock& lock, SharedLoop& loop);
  /// Wakes all threads: the state of the engine has changed.
  void wake_all();

  /// A worker sleeps.
  void sleep(Lock& lock);
  /// The program's thread sleeps until woken, and at most `seconds`; 0: without limit. `done`: its condition, evaluated
  /// by other threads, under the lock.
  void sleep_as_program(Lock& lock, const std::function<bool()>& done, double seconds);
  /// Called once, by the first offer that needs workers; null: they have been started.
  void start_workers_by(std::function<void()> start) { start_ = std::move(start); }
  void start_workers() {
    if (start_ != nullptr) std::exchange(start_, nullptr)();
  }

 private:
  struct Younger {
    bool operator()(const TaskRun* a, const TaskRun* b) const { return a->order > b->order; }
  };
  [[nodiscard]] static bool has_rest(const SharedLoop* loop) { return loop->next < loop->count; }
  /// Nanoseconds.
  [[nodiscard]] static std::int64_t work_of(const TaskRun& task);
  void wake_one() {
    if (!wake_worker() && awaited_ != nullptr && !program_woken_) wake_program();
  }
  void wake_program() {
    program_woken_ = true;
    program_.notify_one();
  }

  const Context& context_;
  std::priority_queue<TaskRun*, std::vector<TaskRun*>, Younger> tasks_;
  std::int64_t work_ = 0;           ///< of the ready tasks
  std::vector<SharedLoop*> loops_;  ///< of running kernels
  std::condition_variable wake_, program_;
  int sleeping_ = 0;                                ///< workers that sleep and have not been woken
  int woken_ = 0;                                   ///< woken workers that do not run yet
  const std::function<bool()>* awaited_ = nullptr;  ///< not null: the program's thread sleeps
  bool program_woken_ = false;
  std::function<void()> start_;
};

}  // namespace tdsl::rt
