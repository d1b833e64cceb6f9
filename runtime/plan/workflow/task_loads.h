#pragma once

#include <unordered_set>
#include <vector>

#include "runtime/plan/workflow/workflow.h"

namespace tdsl::plan {

/// Processes for the tasks of one operation, in the order of their numbers.
using Processes = std::vector<std::int32_t>;

/// Seconds that processes are busy with tasks, by the machine's constants: what they compute, and what they receive,
/// each block once.
class TaskLoads {
 public:
  TaskLoads(const Region& region, const PlanInputs& inputs, const Workflow& workflow);

  [[nodiscard]] double of(std::int32_t process) const { return loads_[static_cast<std::size_t>(process)]; }
  /// What the tasks of an operation would add, per process.
  [[nodiscard]] std::vector<double> added_by(std::size_t op, const Processes& processes) const;
  /// Adds it.
  void add(std::size_t op, const Processes& processes);

 private:
  const Region& region_;
  const PlanInputs& inputs_;
  const Workflow& workflow_;
  std::vector<double> loads_;
  mutable std::unordered_set<std::uint64_t> arrived_;  ///< blocks of the operation under way, per process
};

}  // namespace tdsl::plan
