#include "runtime/plan/schedules/task_loads.h"

#include <algorithm>

#include "runtime/plan/cost/work_rate.h"

namespace tdsl::plan {

TaskLoads::TaskLoads(const Region& region, const PlanInputs& inputs, const Workflow& workflow)
    : region_(region), inputs_(inputs), workflow_(workflow), loads_(static_cast<std::size_t>(inputs.ranks), 0) {}

std::vector<double> TaskLoads::added_by(std::size_t op, const Processes& processes) const {
  const WorkflowOp& tasks = workflow_.ops[op];
  const Machine& machine = inputs_.machine;
  std::vector<double> added(loads_.size(), 0);
  arrived_.clear();
  const auto process_of = [&](TaskNumber n) {
    return n >= tasks.first ? processes[static_cast<std::size_t>(n - tasks.first)] : workflow_.task(n).process;
  };
  const auto receive = [&](std::int32_t process, TaskNumber from, double bytes) {
    if (process_of(from) == process || process_of(from) == kEverybody) return;
    const auto key = static_cast<std::uint64_t>(from) * loads_.size() + static_cast<std::uint64_t>(process);
    if (arrived_.insert(key).second) added[static_cast<std::size_t>(process)] += bytes / machine.bandwidth;
  };
  for (TaskNumber n = tasks.first; n < tasks.end; ++n) {
    const WorkflowTask& task = workflow_.task(n);
    const std::int32_t process = process_of(n);
    if (process < 0 || task.kind == TaskKind::kPair) continue;
    added[static_cast<std::size_t>(process)] += seconds_of_flops(region_.ops[op].op, task.flops, machine);
    if (task.kind == TaskKind::kApply) {
      for (const TaskInput& block : workflow_.blocks_of(task)) receive(process, block.task, block.bytes);
      continue;
    }
    // Neighbours on one process are summed before they are sent.
    std::int32_t before = process;
    for (const TaskInput& part : workflow_.inputs_of(task)) {
      if (process_of(part.task) != before) receive(process, part.task, part.bytes);
      before = process_of(part.task);
    }
  }
  for (double& seconds : added) seconds *= region_.ops[op].weight;
  return added;
}

void TaskLoads::add(std::size_t op, const Processes& processes) {
  const std::vector<double> added = added_by(op, processes);
  for (std::size_t p = 0; p < loads_.size(); ++p) loads_[p] += added[p];
}

}  // namespace tdsl::plan
