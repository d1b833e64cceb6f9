#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "runtime/engine/messages/answers.h"
#include "runtime/engine/tasks/operations.h"
#include "runtime/engine/tasks/repeated.h"

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
  /// Creates the inspection of the blocks that the operation's access `walked` reads, in the step.
  void inspect(OperationRun& operation, const std::shared_ptr<Meetings>& meetings, std::size_t walked, Index step);
  /// Releases the blocks of an inspection and removes it.
  void end_inspection(TaskRun& task);
  /// Releases the task's operands, completes its blocks and removes it.
  void complete(TaskRun& task);
  /// The tasks of a repeated operation hold the blocks that they read, all of which are complete.
  void bind(RepeatedOperation& operation);
  /// Releases the operands of such a task and completes its blocks.
  void end_repeated(TaskRun& task);

 private:
  [[nodiscard]] TaskRun& enter(OperationRun& operation, Index step);
  void leave(TaskRun& task);
  void add_local(TaskRun& task, InputPart& part, Block& block);
  void find_input(TaskRun& task, Input& input, plan::TensorId tensor, const Box& box);
  static void wait_for_panel(TaskRun& task);
  void promise_output(const TaskRun& task);
  void complete_outputs(const TaskRun& task);
  void let_go(Input& input);
  void release(Input& input);
  void complete_block(TensorInstance& tensor, Index number);

  Context& context_;
  Footprint& footprint_;
  ReadyQueue& ready_;
  Operations& operations_;
  Answers& answers_;
  DiskTransfers& disk_;
  std::uint64_t next_order_ = 0;
  std::list<TaskRun> spare_;  ///< completed ones, without operands: their lists keep memory for later tasks
};

}  // namespace tdsl::rt
