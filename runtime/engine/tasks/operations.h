#pragma once

#include <deque>
#include <list>
#include <memory>
#include <utility>

#include "runtime/engine/tasks/operation.h"
#include "runtime/engine/tasks/ready_queue.h"

namespace tdsl::rt {

struct RepeatedOperation;

/// Submitted, incomplete operations, in order.
class Operations {
 public:
  /// `outside` finds the tensors computed by submitted operations.
  Operations(Context& context, ReadyQueue& ready, plan::TensorLookup outside)
      : context_(context),
        ready_(ready),
        outside_(std::move(outside)),
        inside_([&context](plan::TensorId id) -> const plan::PlacedTensor& { return context.tensors.at(id).placed; }) {}

  /// True if another operation may be submitted: the queue is bounded.
  [[nodiscard]] bool have_room() const;
  /// Enters an operation and the tensors that it computes.
  OperationRun& enter(std::shared_ptr<const plan::PlannedOp> op, Kernel kernel, Engine::Lend lend);
  /// Lists the tasks of an operation of dense tensors, which this rank, running alone, may repeat (Note [Repeats]);
  /// null: there are too many. The outside lookup must know its tensors.
  [[nodiscard]] std::shared_ptr<RepeatedOperation> list(std::shared_ptr<plan::PlannedOp> op);
  /// The number of an operation that runs at once, not as a submitted one.
  [[nodiscard]] Index number_repeated() { return submitted_++; }
  /// The oldest operation with a step to admit, with that step listed; null: none. Operations whose steps are all
  /// admitted release their operands.
  [[nodiscard]] OperationRun* next();
  /// Makes the task, whose operation has effects, wait for the previous such operation.
  void wait_for_effect(TaskRun& task);
  /// Removes a completed operation.
  void finish(OperationRun& operation);

  [[nodiscard]] Index submitted() const { return submitted_; }
  /// Number of operations before the oldest incomplete one.
  [[nodiscard]] Index complete() const { return unfinished_.empty() ? submitted_ : unfinished_.front()->number; }
  /// The oldest incomplete operation; null: none.
  [[nodiscard]] const OperationRun* oldest() const { return unfinished_.empty() ? nullptr : unfinished_.front().get(); }
  /// The site of the next step to admit; `none` if there is none.
  [[nodiscard]] int site_to_admit(int none) const { return to_admit_.empty() ? none : to_admit_.front()->op().site; }

 private:
  Context& context_;
  ReadyQueue& ready_;
  plan::TensorLookup outside_;  ///< the planner's
  plan::TensorLookup inside_;   ///< the engine's: a tensor remains as long as an operation needs it
  std::list<std::shared_ptr<OperationRun>> unfinished_;
  std::deque<OperationRun*> to_admit_;  ///< with steps to admit
  Index submitted_ = 0;
  Index listed_tasks_ = 0;  ///< of operations that may be repeated
};

}  // namespace tdsl::rt
