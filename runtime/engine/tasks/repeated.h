#pragma once

#include <memory>
#include <vector>

#include "runtime/engine/tasks/operation.h"

namespace tdsl::rt {

/// An operation whose tasks were listed once, on a rank that runs alone, and run again with other tensors of the same
/// shapes and layouts. Note [Repeats] in repeats.h.
struct RepeatedOperation {
  RepeatedOperation(std::shared_ptr<plan::PlannedOp> its_op, const plan::TensorLookup& lookup, Index rank,
                    Index& all_listed);

  ~RepeatedOperation() { *listed -= counted; }
  RepeatedOperation(const RepeatedOperation&) = delete;
  RepeatedOperation& operator=(const RepeatedOperation&) = delete;

  /// Gives the operation the tensors of `names`, an operation of the same form.
  void rename(const plan::Op& names);
  /// Seconds of one execution: measured, else predicted.
  [[nodiscard]] double seconds() const;

  std::shared_ptr<plan::PlannedOp> planned;  ///< with the tensors of the latest execution
  OperationRun run;                          ///< its tasks in the order in which they run
  std::vector<plan::Distribution> outputs;
  std::vector<TensorInstance*> reads;  ///< by Op::reads, then the base; during an execution
  plan::Estimate output_bytes;
  Index assembled_bytes = 0;  ///< the most that one task assembles
  Index* listed;              ///< the engine's number of listed tasks
  Index counted = 0;          ///< those of this operation
};

/// Sets what follows from the operation's accesses to its operands.
void describe_reads(OperationRun& operation);
/// Places the task: its panel, labels, and the boxes of its output and operands. False if it computes nothing.
bool locate(TaskRun& run, const plan::Task& task, Index panel);
/// Lists the operation's tasks and the blocks that they read. False if there are too many, or if pieces must be
/// fetched.
[[nodiscard]] bool list_tasks(RepeatedOperation& operation, const plan::TensorLookup& tensors);

}  // namespace tdsl::rt
