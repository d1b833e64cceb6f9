#pragma once

#include <condition_variable>
#include <queue>
#include <utility>
#include <vector>

#include "runtime/engine/context.h"
#include "runtime/engine/tasks/operation.h"

namespace tdsl::rt {

/// Ready tasks, oldest first, and the threads that sleep until there are any.
class ReadyQueue {
 public:
  /// One missing block, piece, panel or effect of the task has become available.
  void satisfy(TaskRun& task) {
    if (--task.missing == 0) push(task);
  }
  void push(TaskRun& task) {
    tasks_.push(&task);
    if (sleeping_ > 0) wake_.notify_one();
  }
  /// Removes and returns the oldest task; null: none.
  [[nodiscard]] TaskRun* pop() {
    if (tasks_.empty()) return nullptr;
    TaskRun* const task = tasks_.top();
    tasks_.pop();
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

  /// Sleeps until a task is ready or the state of the engine has changed.
  void sleep(Lock& lock) {
    ++sleeping_;
    wake_.wait(lock);
    --sleeping_;
  }
  void wake_all() {
    if (sleeping_ > 0) wake_.notify_all();
  }

 private:
  struct Younger {
    bool operator()(const TaskRun* a, const TaskRun* b) const { return a->order > b->order; }
  };
  std::priority_queue<TaskRun*, std::vector<TaskRun*>, Younger> tasks_;
  std::condition_variable wake_;
  int sleeping_ = 0;
};

}  // namespace tdsl::rt
