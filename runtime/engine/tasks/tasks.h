#pragma once

#include <cstdint>

#include "runtime/engine/messages/answers.h"
#include "runtime/engine/tasks/operations.h"

namespace tdsl::rt {

/// Tasks of admitted steps: their operands, dependences, and completed blocks.
class Tasks {
 public:
  Tasks(Context& context, Footprint& footprint, ReadyQueue& ready, Operations& operations, Answers& answers,
        DiskTransfers& disk)
      : context_(context),
        footprint_(footprint),
        ready_(ready),
        operations_(operations),
        answers_(answers),
        disk_(disk) {}

  /// Creates a task of the operation's next step, whose pieces have been fetched.
  void create(OperationRun& operation, const plan::Task& task, Index step);
  /// Releases the task's operands, completes its blocks and removes it.
  void complete(TaskRun& task);

 private:
  [[nodiscard]] Input find_input(TaskRun& task, plan::TensorId tensor, const Box& box);
  static void wait_for_panel(TaskRun& task);
  void release(Input& input);
  void complete_block(TensorInstance& tensor, Index number);

  Context& context_;
  Footprint& footprint_;
  ReadyQueue& ready_;
  Operations& operations_;
  Answers& answers_;
  DiskTransfers& disk_;
  std::uint64_t next_order_ = 0;
};

}  // namespace tdsl::rt
