#pragma once

#include "runtime/plan/workflow/workflow.h"

// TensorPlanner's static schedule: patterns of tasks, starting from the Loads.

namespace tdsl::plan {

/// The process of a Pair, its Apply and their Reduce, by the block coordinates of the result. Pairs are on `level`,
/// counted from 0. If every left block is in one Pair only, rows alone determine the process (`rows_only`); if every
/// right block is, columns do.
enum class PatternRule { kGrid, kRowsOnly, kColumnsOnly };
[[nodiscard]] Index pattern_process(const std::vector<Index>& block, PatternRule rule, Index level, Index processes);

/// Assigns a process to every task.
///   - Loads: the blocks of a tensor round-robin; single-block tensors round-robin.
///   - Pair-Apply-Reduce: all by coordinates (pattern_process), so that each block is sent to a row or a column of
///     processes.
///   - Pair-Apply: the process of an operand; with several, the one with the least load.
///   - Others: the process of a producer with the least load.
/// A load is the time for the tasks assigned to a process so far and for the data it receives. If the busiest process
/// of an operation would take longer than with owner-computes placement at the largest operands (their Applies there,
/// and Reduces on the least loaded of these), the latter is used: at all operations of a site if its heaviest one
/// would, so that the iterations of a loop differ by their level alone.
void schedule_pattern(const Region& region, const PlanInputs& inputs, Workflow& workflow);

}  // namespace tdsl::plan
