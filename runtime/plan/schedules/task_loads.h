#pragma once

#include <unordered_set>
#include <vector>

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

}  // namespace tdsl::plan
