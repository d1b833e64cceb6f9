#pragma once

#include "runtime/plan/workflow/workflow.h"

// TensorPlanner's static schedule: patterns of tasks, from the Loads on.

namespace tdsl::plan {

/// The process of a Pair, its Apply and their Reduce, by the block coordinates of the result. Pairs are on `level`,
/// counted from 0. Where every left block is in one Pair only, rows alone say which process (`rows_only`); where every
/// right block is, columns.
enum class PatternRule { kGrid, kRowsOnly, kColumnsOnly };
[[nodiscard]] Index pattern_process(const std::vector<Index>& block, PatternRule rule, Index level, Index processes);

/// Gives every task a process.
///   - Loads: blocks of a tensor in turn; tensors of one block in turn.
///   - Pair-Apply-Reduce: all of it by coordinates (pattern_process), so that each block goes to a row or a column of
///   processes.
///   - Pair-Apply: the process of an operand, of several that with the least load.
///   - Others: the process of a producer with the least load.
/// A load is the seconds for what was given to a process so far, and for what it receives. If the busiest process of an
/// operation would need longer so than where the largest operands lie (their Applies there, and Reduces at the least
/// loaded of these), it is placed there.
void schedule_pattern(const Region& region, const PlanInputs& inputs, Workflow& workflow);

}  // namespace tdsl::plan
