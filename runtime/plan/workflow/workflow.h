#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/plan/workflow/block_grid.h"

// The task workflow of a region, as in TensorPlanner: found by evaluating the program over block coordinates alone. C =
// A B of 2 x 2 blocks:
//
//     Load A[0, 0]   Load B[0, 0]   Load A[0, 1]   Load B[1, 0]
//             \       /                     \       /
//               Pair                          Pair
//                |                             |
//              Apply                         Apply                the products of two blocks
//                 \___________    ____________/
//                             Reduce C[0, 0]                      and likewise for the other three blocks of C
//
// An operation has an Apply per block of its result and block of its reduce labels, and, if it reduces, a Reduce per
// block of its result. The blocks an Apply reads, each once, are paired from the left: Pair(Pair(a, b), c).

namespace tdsl::plan {

using TaskNumber = std::int32_t;

enum class TaskKind : std::uint8_t { kLoad, kPair, kApply, kReduce };
[[nodiscard]] const char* name_of(TaskKind kind);

/// Special process numbers.
inline constexpr std::int32_t kNobody = -1;
inline constexpr std::int32_t kEverybody = -2;  ///< every rank runs it (WorkflowTask::process)

struct WorkflowTask {
  TaskKind kind = TaskKind::kLoad;
  std::int32_t op = 0;             ///< index in Region::ops
  Index block = 0;                 ///< block number in the operation's result, row-major
  Index panel = 0;                 ///< block number in its reduce labels, row-major (Pair, Apply)
  std::int32_t process = kNobody;  ///< assigned by a scheduler
  TaskNumber first_input = 0;      ///< index in Workflow::inputs
  TaskNumber inputs = 0;
  double bytes = 0;  ///< of its result; for a Pair: the parts of both inputs that its Apply needs
  double flops = 0;
};

struct TaskInput {
  TaskNumber task = 0;
  double bytes = 0;  ///< the needed part of the input's result
};

/// The tasks of an operation.
struct WorkflowOp {
  BlockCut cut;
  TaskNumber first = 0;            ///< number of its first task;
  TaskNumber end = 0;              ///< one past its last: Pairs and Applies first, then Reduces
  std::vector<TaskNumber> result;  ///< the Load, Apply or Reduce that creates each block, row-major
  int joins = 0;                   ///< the most Pairs of any Apply
  int level = 0;                   ///< the most operations with Pairs on a chain of its dependences
};

struct Workflow {
  std::vector<WorkflowTask> tasks;  ///< inputs before their readers
  std::vector<TaskInput> inputs;
  std::vector<WorkflowOp> ops;  ///< one per operation of the region; effects have no tasks

  [[nodiscard]] const WorkflowTask& task(TaskNumber number) const { return tasks[static_cast<std::size_t>(number)]; }
  [[nodiscard]] WorkflowTask& task(TaskNumber number) { return tasks[static_cast<std::size_t>(number)]; }
  [[nodiscard]] std::span<const TaskInput> inputs_of(const WorkflowTask& task) const {
    return {inputs.data() + task.first_input, static_cast<std::size_t>(task.inputs)};
  }
  /// The blocks that an Apply reads, without the intermediate Pairs, in pairing order.
  [[nodiscard]] std::vector<TaskInput> blocks_of(const WorkflowTask& apply) const;
  /// Block coordinates of the result, and of the reduce labels.
  [[nodiscard]] std::vector<Index> block_coordinates(const WorkflowTask& task) const;
  [[nodiscard]] std::vector<Index> panel_coordinates(const WorkflowTask& task) const;
};

inline constexpr Index kWorkflowTasks = 1'000'000;

/// Thrown if a schedule has no plan; what() gives the reason.
class NoPlan : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws NoPlan if there would be more than `most` tasks.
[[nodiscard]] Workflow workflow_of(const Region& region, const PlanInputs& inputs, const GridSettings& settings,
                                   Index most = kWorkflowTasks);

/// One line per task: its number, kind, result, inputs, process.
[[nodiscard]] std::string print(const Workflow& workflow, const Region& region);
/// The same as a Graphviz graph, with a node per task, coloured by process.
[[nodiscard]] std::string print_dot(const Workflow& workflow, const Region& region);

}  // namespace tdsl::plan
