#pragma once

#include <deque>
#include <vector>

#include "runtime/engine/tasks/call.h"

namespace tdsl::rt {

/// The kernel calls of a run of one rank, for repetition.
///
/// Note [Tapes]
/// A run that records the same operations each time, because nothing recorded depends on computed values, calls the
/// same kernels on the same blocks. Its tape has the calls in the order in which tasks were prepared. A task is
/// prepared once its operands are complete, and a block's buffer is reused only after that; so the calls can be
/// repeated one after the other in this order, whatever threads had run them, on the same addresses, if the store keeps
/// all memory (Store::keep_all). Tasks, and so bits, are those of the run.
class Tape {
 public:
  /// Adds a task about to run. Under the engine's lock.
  void add(const TaskRun& task, const Call& call);
  /// False if the tape lacks a call: one of compressed blocks, or one that is executed in pieces.
  [[nodiscard]] bool complete() const { return complete_; }
  /// Executes all calls on this thread, as in a run with that number of threads. Returns false if a kernel throws.
  [[nodiscard]] bool repeat(int threads) const noexcept;

 private:
  struct Copy {
    Operand from, to;
    Index element_bytes = 0;
  };
  struct Entry {
    Kernel kernel;
    std::vector<Copy> copies;  ///< before the kernel
    std::vector<Call::Run> runs;
    std::vector<Operand> outputs;
    std::vector<TaskArgs> arguments;  ///< of `runs`; refers to both lists
  };
  void execute() const;

  std::deque<Entry> entries_;  ///< does not move them
  bool complete_ = true;
};

}  // namespace tdsl::rt
