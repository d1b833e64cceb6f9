#include "runtime/plan/schedules/placed_tasks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "runtime/check.h"
#include "runtime/plan/cost/machine.h"
#include "runtime/plan/region/choices.h"
#include "runtime/plan/schedules/combined_pieces.h"

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

namespace {

/// An empty reduce label has one panel without points.
std::vector<Index> block_counts(const std::vector<Tiling>& cut) {
  std::vector<Index> counts;
  for (const Tiling& tiling : cut) counts.push_back(std::max<Index>(tiling.tiles(), 1));
  return counts;
}

/// Converts the tasks of one operation into a decision.
class SiteTasks {
 public:
  SiteTasks(const Op& op, const Workflow& workflow, std::size_t k, const PlanInputs& inputs)
      : op_(op), workflow_(workflow), tasks_(workflow.ops[k]), inputs_(inputs) {}

  [[nodiscard]] Decision decision() const {
    std::vector<std::int32_t> owners;
    for (const TaskNumber result : tasks_.result) {
      TDSL_CHECK(workflow_.task(result).process >= 0, "every task has a process");
      owners.push_back(workflow_.task(result).process);
    }
    const std::vector<Index> blocks = block_counts(tasks_.cut.out);
    const auto lies = [&](BlockOwners of) {
      return text_of(block_layout(std::move(of.blocks), std::move(of.owners), op_.shape.size(), inputs_.ranks),
                     result_names(op_));
    };
    Decision decision{name_of(op_.op_class), op_.name, lies({blocks, owners}), {}, {}};
    if (!may_split(op_)) return decision;
    const std::vector<std::int32_t> processes = of_applies();
    const std::vector<Index> parts = fewest_parts(processes);
    if (std::ranges::all_of(parts, [](Index n) { return n == 1; })) {  // the result stays where it was computed
      const std::size_t panels = processes.size() / owners.size();
      for (std::size_t k = 0; k < owners.size(); ++k) owners[k] = processes[k * panels];
      decision.work = lies({blocks, std::move(owners)});
    } else if (std::ranges::count_if(parts, [](Index n) { return n > 1; }) <= op_.most_split_labels()) {
      decision.work = text_of(work_layout(processes, parts), slot_names(op_));
      decision.result = lies(combined_in_pieces(op_, {blocks, std::move(owners)}, processes, inputs_));
    }
    return decision;
  }

 private:
  /// Per block of the result and of the reduce labels.
  [[nodiscard]] std::vector<std::int32_t> of_applies() const {
    Index panels = 1;
    for (const Index n : block_counts(tasks_.cut.reduce)) panels *= n;
    std::vector<std::int32_t> processes(tasks_.result.size() * static_cast<std::size_t>(panels), kNobody);
    for (TaskNumber n = tasks_.first; n < tasks_.end; ++n) {
      const WorkflowTask& task = workflow_.task(n);
      if (task.kind == TaskKind::kApply)
        processes[static_cast<std::size_t>(task.block * panels + task.panel)] = task.process;
    }
    for (std::size_t k = 0; k < processes.size(); ++k) {  // blocks that are never written have one Apply
      if (processes[k] == kNobody)
        processes[k] = processes[k / static_cast<std::size_t>(panels) * static_cast<std::size_t>(panels)];
    }
    return processes;
  }

  /// Per reduce label, the number of equal runs of its blocks such that each run has a single process.
  [[nodiscard]] std::vector<Index> fewest_parts(const std::vector<std::int32_t>& processes) const {
    std::vector<Index> parts;
    const std::vector<Index> panels = block_counts(tasks_.cut.reduce);
    Index inner = 1;
    for (const Index n : panels) inner *= n;
    for (const Index n : panels) {
      inner /= n;
      Index p = 1;
      while (n % p != 0 || !runs_are_alike(processes, n, inner, n / p)) ++p;
      parts.push_back(p);
    }
    return parts;
  }

  /// True if blocks along one label, `inner` apart, have one process per run of `run` blocks.
  [[nodiscard]] static bool runs_are_alike(const std::vector<std::int32_t>& processes, Index blocks, Index inner,
                                           Index run) {
    for (Index k = 0; k < static_cast<Index>(processes.size()); ++k) {
      const Index at = k / inner % blocks;
      if (processes[static_cast<std::size_t>(k)] != processes[static_cast<std::size_t>(k - at % run * inner)])
        return false;
    }
    return true;
  }

  [[nodiscard]] Layout work_layout(const std::vector<std::int32_t>& processes, const std::vector<Index>& parts) const {
    std::vector<Index> blocks = block_counts(tasks_.cut.out);
    const std::vector<Index> panels = block_counts(tasks_.cut.reduce);
    blocks.insert(blocks.end(), parts.begin(), parts.end());
    Index count = 1;
    for (const Index n : blocks) count *= n;
    std::vector<std::int32_t> owners;
    for (Index k = 0; k < count; ++k) {
      std::vector<Index> at(parts.size());
      Index block = k;
      for (std::size_t l = parts.size(); l-- > 0; block /= parts[l]) at[l] = block % parts[l];
      for (std::size_t l = 0; l < parts.size(); ++l) block = block * panels[l] + at[l] * (panels[l] / parts[l]);
      owners.push_back(processes[static_cast<std::size_t>(block)]);
    }
    return block_layout(std::move(blocks), std::move(owners), op_.shape.size() + op_.reduce.size(), inputs_.ranks);
  }

  const Op& op_;
  const Workflow& workflow_;
  const WorkflowOp& tasks_;
  const PlanInputs& inputs_;
};

}  // namespace

Layout block_layout(std::vector<Index> blocks, std::vector<std::int32_t> owners, std::size_t dimensions, Index ranks) {
  Layout layout;
  layout.cut.resize(dimensions);
  layout.home = owners.empty() ? 0 : owners.front();
  const bool one = std::ranges::all_of(owners, [&](std::int32_t owner) { return owner == layout.home; });
  if (!one) {
    layout.map = block_map(std::move(blocks), std::move(owners), ranks);
    layout.home = 0;
  }
  return layout;
}

namespace {

/// The executions of a site in the survey, and which of a run's each is.
struct SiteExecution {
  std::size_t op = 0;
  Index number = 0;
};
using SiteExecutions = std::map<int, std::vector<SiteExecution>>;

SiteExecutions executions_of(const Region& region, const Workflow& workflow) {
  SiteExecutions executions;
  std::map<int, Index> seen;
  int run = 0;
  for (std::size_t k = 0; k < region.ops.size(); ++k) {
    const Op& op = region.ops[k].op;
    if (std::exchange(run, region.ops[k].run) != region.ops[k].run) seen.clear();
    const Index number = op.outputs.empty() ? 0 : seen[op.site]++;
    if (workflow.ops[k].result.empty() || op.home >= 0 || op.replicated) continue;
    executions[op.site].push_back({k, number});
  }
  return executions;
}

/// True if every task of `other` runs `shift` ranks after the same task of `first`.
bool is_shifted(const Workflow& workflow, std::size_t first, std::size_t other, Index shift, Index ranks) {
  const WorkflowOp &a = workflow.ops[first], &b = workflow.ops[other];
  if (a.end - a.first != b.end - b.first || block_counts(a.cut.out) != block_counts(b.cut.out)) return false;
  for (TaskNumber n = 0; n < a.end - a.first; ++n) {
    if ((workflow.task(a.first + n).process + shift) % ranks != workflow.task(b.first + n).process) return false;
  }
  return true;
}

/// The ranks by which all tasks move from one execution to the next; nothing if they do not move alike.
std::optional<Index> turn_of(const Workflow& workflow, const std::vector<SiteExecution>& executions, Index ranks) {
  const SiteExecution& first = executions.front();
  if (first.number != 0) return std::nullopt;
  Index turn = 0;
  const auto second = std::ranges::find(executions, Index{1}, &SiteExecution::number);
  if (second != executions.end())
    turn = (workflow.task(workflow.ops[second->op].first).process -
            workflow.task(workflow.ops[first.op].first).process + ranks) %
           ranks;
  for (const SiteExecution& e : executions) {
    if (!is_shifted(workflow, first.op, e.op, turn * (e.number % ranks) % ranks, ranks)) return std::nullopt;
  }
  return turn;
}

/// The operation with the largest weight, the last among equals.
std::size_t heaviest_of(const Region& region, const std::vector<SiteExecution>& executions) {
  std::size_t heaviest = executions.front().op;
  for (const SiteExecution& e : executions) {
    if (region.ops[heaviest].weight <= region.ops[e.op].weight) heaviest = e.op;
  }
  return heaviest;
}

}  // namespace

PlanValue plan_of(const Region& region, const PlanInputs& inputs, const Workflow& workflow, std::string schedule) {
  PlanValue plan;
  plan.region = region.hash;
  plan.ranks = inputs.ranks;
  plan.mesh = meshes_of(inputs.ranks, inputs.ranks_per_node).front();
  plan.schedule = std::move(schedule);
  // Whether a plan fits is known for the surveyed executions alone; others would add up differently on some rank.
  const bool limited = inputs.memory > 0 || inputs.window > 0;
  for (const auto& [site, executions] : executions_of(region, workflow)) {
    const std::optional<Index> turn = limited ? std::nullopt : turn_of(workflow, executions, inputs.ranks);
    const std::size_t k = turn ? executions.front().op : heaviest_of(region, executions);
    Decision decision = SiteTasks(region.ops[k].op, workflow, k, inputs).decision();
    decision.turn = turn.value_or(0);
    plan.at.emplace(site, std::move(decision));
  }
  return plan;
}

}  // namespace tdsl::plan
