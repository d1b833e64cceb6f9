#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/plan/workflow/block_grid.h"

// The task workflow of a region, as TensorPlanner has it: found by evaluating the program over block coordinates alone.
// C = A B of 2 x 2 blocks:
//
//     Load A[0, 0]   Load B[0, 0]   Load A[0, 1]   Load B[1, 0]
//             \       /                     \       /
//               Pair                          Pair
//                |                             |
//              Apply                         Apply                the products of two blocks
//                 \___________    ____________/
//                             Reduce C[0, 0]                      and so for the other three blocks of C
//
// An operation has an Apply per block of its result and block of its reduce labels, and, if it reduces, a Reduce per
// block of its result. What an Apply reads, each block once, is paired from the left: Pair(Pair(a, b), c).

namespace tdsl::plan {

using TaskNumber = std::int32_t;

enum class TaskKind : std::uint8_t { kLoad, kPair, kApply, kReduce };
[[nodiscard]] const char* name_of(TaskKind kind);

/// Processes that are none.
inline constexpr std::int32_t kNobody = -1;
inline constexpr std::int32_t kEverybody = -2;  ///< every rank does it (WorkflowTask::process)

struct WorkflowTask {
  TaskKind kind = TaskKind::kLoad;
  std::int32_t op = 0;             ///< in Region::ops
  Index block = 0;                 ///< of the operation's result, row-major
  Index panel = 0;                 ///< of its reduce labels, row-major (Pair, Apply)
  std::int32_t process = kNobody;  ///< who does it, when it has been scheduled
  TaskNumber first_input = 0;      ///< in Workflow::inputs
  TaskNumber inputs = 0;
  double bytes = 0;  ///< of what it gives; of a Pair: of what its Apply needs of both
  double flops = 0;
};

struct TaskInput {
  TaskNumber task = 0;
  double bytes = 0;  ///< what is needed of its result
};

/// The tasks of an operation.
struct WorkflowOp {
  BlockCut cut;
  TaskNumber first = 0;            ///< they are numbered from here on,
  TaskNumber end = 0;              ///< to before here: Pairs and Applies first, then Reduces
  std::vector<TaskNumber> result;  ///< the Load, Apply or Reduce that gives a block, row-major
  int joins = 0;                   ///< the most Pairs of one Apply
  int level = 0;                   ///< operations with Pairs among those it depends on, one after the other
};

struct Workflow {
  std::vector<WorkflowTask> tasks;  ///< inputs before what reads them
  std::vector<TaskInput> inputs;
  std::vector<WorkflowOp> ops;  ///< one per operation of the region; effects have no tasks

  [[nodiscard]] const WorkflowTask& task(TaskNumber number) const { return tasks[static_cast<std::size_t>(number)]; }
  [[nodiscard]] WorkflowTask& task(TaskNumber number) { return tasks[static_cast<std::size_t>(number)]; }
  [[nodiscard]] std::span<const TaskInput> inputs_of(const WorkflowTask& task) const {
    return {inputs.data() + task.first_input, static_cast<std::size_t>(task.inputs)};
  }
  /// The blocks that an Apply reads, without the Pairs between them, in the order in which they are paired.
  [[nodiscard]] std::vector<TaskInput> blocks_of(const WorkflowTask& apply) const;
  /// Block coordinates of the result, and of the reduce labels.
  [[nodiscard]] std::vector<Index> block_coordinates(const WorkflowTask& task) const;
  [[nodiscard]] std::vector<Index> panel_coordinates(const WorkflowTask& task) const;
};

inline constexpr Index kWorkflowTasks = 1'000'000;

/// A schedule has no plan; what() says why.
class NoPlan : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws NoPlan if it had more than `most` tasks.
[[nodiscard]] Workflow workflow_of(const Region& region, const PlanInputs& inputs, const GridSettings& settings,
                                   Index most = kWorkflowTasks);

/// A line per task: its number, kind, what it makes, its inputs, its process.
[[nodiscard]] std::string print(const Workflow& workflow, const Region& region);
/// The same for Graphviz: a node per task, coloured by process.
[[nodiscard]] std::string print_dot(const Workflow& workflow, const Region& region);

}  // namespace tdsl::plan
