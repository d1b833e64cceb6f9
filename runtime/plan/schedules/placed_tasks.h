#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "runtime/plan/value/plan_value.h"
#include "runtime/plan/workflow/workflow.h"

namespace tdsl::plan {

/// Processes of the tasks of one operation, by task number.
using Processes = std::vector<std::int32_t>;

/// Busy time of processes by the machine's constants: their computations, and the blocks they receive, each once.
class TaskLoads {
 public:
  TaskLoads(const Region& region, const PlanInputs& inputs, const Workflow& workflow);

  [[nodiscard]] double of(std::int32_t process) const { return loads_[static_cast<std::size_t>(process)]; }
  /// Load that the tasks of an operation would add, per process.
  [[nodiscard]] std::vector<double> added_by(std::size_t op, const Processes& processes) const;
  /// Adds that load.
  void add(std::size_t op, const Processes& processes);

 private:
  const Region& region_;
  const PlanInputs& inputs_;
  const Workflow& workflow_;
  std::vector<double> loads_;
  mutable std::unordered_set<std::uint64_t>
      arrived_;  ///< blocks already received for the current operation, per process
};

/// A layout with these block owners, row-major, for a space of this many dimensions; `home R` if all are on one rank.
[[nodiscard]] Layout block_layout(std::vector<Index> blocks, std::vector<std::int32_t> owners, std::size_t dimensions,
                                  Index ranks);

/// A scheduled workflow as a plan. If the tasks of a site move by the same number of ranks from each of its executions
/// to the next, its decision turns (plan_value.h), unless --memory or --window is given; otherwise all follow the
/// heaviest one, the last among equals. Results are placed where the tasks that create their blocks ran; as a cyclic
/// map if possible, else by an owner table. Applies that ran elsewhere compute partial results: each reduce label is
/// split into the fewest equal runs of blocks with a single process each, and a table assigns the parts of blocks.
/// Parts are combined all at once, not pairwise as in some schedules: at the result's owner, or in pieces
/// (combined_pieces.h).
[[nodiscard]] PlanValue plan_of(const Region& region, const PlanInputs& inputs, const Workflow& workflow,
                                std::string schedule);

}  // namespace tdsl::plan
