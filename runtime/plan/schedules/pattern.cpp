#include "runtime/plan/schedules/pattern.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/plan/region/choices.h"
#include "runtime/plan/schedules/placed_tasks.h"
#include "runtime/plan/schedules/schedule.h"

namespace tdsl::plan {

namespace {

/// Number of reads, by an operation's Applies, of the blocks in one position of the Pairs.
struct Readers {
  bool left_once = true;
  bool right_once = true;
};

/// Whether the operations of a site run at their largest operands rather than by the pattern, as the heaviest of them
/// prefers.
struct SitePreference {
  double weight = 0;
  bool at_operands = false;
  bool differs = false;  ///< between operations
};
using SitePreferences = std::map<int, SitePreference>;

class PatternSchedule {
 public:
  /// `settled`: preferences to follow; null: every operation follows its own.
  PatternSchedule(const Region& region, const PlanInputs& inputs, Workflow& workflow, const SitePreferences* settled)
      : region_(region),
        workflow_(workflow),
        ranks_(inputs.ranks),
        settled_(settled),
        loads_(region, inputs, workflow) {}

  [[nodiscard]] const SitePreferences& preferences() const { return preferences_; }

  void run() {
    for (std::size_t k = 0; k < region_.ops.size(); ++k) {
      if (workflow_.ops[k].result.empty()) continue;
      const Processes processes = processes_of(k);
      loads_.add(k, processes);
      for (std::size_t t = 0; t < processes.size(); ++t)
        workflow_.task(workflow_.ops[k].first + static_cast<TaskNumber>(t)).process = processes[t];
    }
  }

 private:
  [[nodiscard]] Processes processes_of(std::size_t k) {
    const Op& op = region_.ops[k].op;
    const WorkflowOp& tasks = workflow_.ops[k];
    if (op.home >= 0 || op.replicated)
      return Processes(size_of(tasks), op.replicated ? kEverybody : static_cast<std::int32_t>(op.home));
    if (op.is_source()) return loads_in_turn(tasks);
    if (op.base >= 0) return where_base_lies(tasks);
    const Processes with_operands = where_operands_lie(k);
    if (tasks.joins == 0) return with_operands;
    const Processes pattern = op.reduce.empty() ? least_loaded_operands(tasks) : by_coordinates(tasks);
    return at_operands(k, pattern, with_operands) ? with_operands : pattern;
  }

  [[nodiscard]] bool at_operands(std::size_t k, const Processes& pattern, const Processes& with_operands) {
    const RegionOp& recorded = region_.ops[k];
    if (settled_ != nullptr) return settled_->at(recorded.op.site).at_operands;
    const bool better = busiest(k, pattern) > busiest(k, with_operands) * (1 + 1e-9);
    SitePreference& site =
        preferences_.try_emplace(recorded.op.site, SitePreference{recorded.weight, better}).first->second;
    site.differs = site.differs || site.at_operands != better;
    if (site.weight <= recorded.weight) site = {recorded.weight, better, site.differs};
    return better;
  }

  [[nodiscard]] static std::size_t size_of(const WorkflowOp& tasks) {
    return static_cast<std::size_t>(tasks.end - tasks.first);
  }

  [[nodiscard]] double busiest(std::size_t k, const Processes& processes) const {
    const std::vector<double> added = loads_.added_by(k, processes);
    return *std::max_element(added.begin(), added.end());
  }

  Processes loads_in_turn(const WorkflowOp& tasks) {
    Processes processes(size_of(tasks));
    for (std::size_t b = 0; b < processes.size(); ++b) {
      const Index number = processes.size() == 1 ? single_blocks_++ : static_cast<Index>(b);
      processes[b] = static_cast<std::int32_t>(number % ranks_);
    }
    return processes;
  }

  /// Assigns the same process to all tasks of a result block.
  template <class F>
  [[nodiscard]] Processes by_block(const WorkflowOp& tasks, F&& process_of_block) const {
    std::vector<std::int32_t> of_block;
    for (std::size_t b = 0; b < tasks.result.size(); ++b) of_block.push_back(process_of_block(static_cast<Index>(b)));
    Processes processes;
    for (TaskNumber n = tasks.first; n < tasks.end; ++n)
      processes.push_back(of_block[static_cast<std::size_t>(workflow_.task(n).block)]);
    return processes;
  }

  /// The Applies of every block of the result, in panel order.
  [[nodiscard]] std::vector<std::vector<TaskNumber>> applies_of(const WorkflowOp& tasks) const {
    std::vector<std::vector<TaskNumber>> applies(tasks.result.size());
    for (TaskNumber n = tasks.first; n < tasks.end; ++n) {
      const WorkflowTask& task = workflow_.task(n);
      if (task.kind == TaskKind::kApply) applies[static_cast<std::size_t>(task.block)].push_back(n);
    }
    return applies;
  }

  [[nodiscard]] Processes where_base_lies(const WorkflowOp& tasks) const {
    const std::vector<std::vector<TaskNumber>> applies = applies_of(tasks);
    return by_block(tasks, [&](Index block) {
      const std::vector<TaskInput> blocks =
          workflow_.blocks_of(workflow_.task(applies[static_cast<std::size_t>(block)].front()));
      return blocks.empty() ? std::int32_t{0} : workflow_.task(blocks.front().task).process;
    });
  }

  [[nodiscard]] Readers readers_of(const WorkflowOp& tasks) const {
    std::map<TaskNumber, int> left, right;
    for (TaskNumber n = tasks.first; n < tasks.end; ++n) {
      if (workflow_.task(n).kind != TaskKind::kApply) continue;
      const std::vector<TaskInput> blocks = workflow_.blocks_of(workflow_.task(n));
      if (blocks.size() < 2) continue;
      ++left[blocks.front().task];
      ++right[blocks.back().task];
    }
    const auto once = [](const std::map<TaskNumber, int>& count) {
      return std::ranges::all_of(count, [](const auto& block) { return block.second == 1; });
    };
    return {once(left), once(right)};
  }

  [[nodiscard]] Processes by_coordinates(const WorkflowOp& tasks) const {
    const Readers readers = readers_of(tasks);
    const PatternRule rule = readers.left_once    ? PatternRule::kRowsOnly
                             : readers.right_once ? PatternRule::kColumnsOnly
                                                  : PatternRule::kGrid;
    return by_block(tasks, [&](Index block) {
      const std::vector<Index> at =
          workflow_.block_coordinates(workflow_.task(tasks.result[static_cast<std::size_t>(block)]));
      return static_cast<std::int32_t>(pattern_process(at, rule, tasks.level, ranks_));
    });
  }

  [[nodiscard]] Processes least_loaded_operands(const WorkflowOp& tasks) const {
    // A block's load counts for the next one approximately, by the bytes it reads.
    std::map<std::int32_t, Index> given;
    const std::vector<std::vector<TaskNumber>> applies = applies_of(tasks);
    return by_block(tasks, [&](Index block) {
      std::int32_t best = kNobody;
      const auto before = [&](std::int32_t a, std::int32_t b) {
        return loads_.of(a) != loads_.of(b) ? loads_.of(a) < loads_.of(b)
               : given[a] != given[b]       ? given[a] < given[b]
                                            : a < b;
      };
      for (const TaskInput& input :
           workflow_.blocks_of(workflow_.task(applies[static_cast<std::size_t>(block)].front()))) {
        const std::int32_t process = workflow_.task(input.task).process;
        if (process >= 0 && (best == kNobody || before(process, best))) best = process;
      }
      if (best == kNobody) best = static_cast<std::int32_t>(block % ranks_);
      ++given[best];
      return best;
    });
  }

  /// The process that holds most of the Applies' operands; `otherwise` if none of them is placed.
  [[nodiscard]] std::int32_t largest_share(const std::vector<TaskNumber>& applies, std::int32_t otherwise) const {
    std::map<std::int32_t, double> bytes;
    for (const TaskNumber apply : applies) {
      for (const TaskInput& input : workflow_.blocks_of(workflow_.task(apply))) {
        if (workflow_.task(input.task).process >= 0) bytes[workflow_.task(input.task).process] += input.bytes;
      }
    }
    std::int32_t best = otherwise;
    double most = -1;
    for (const auto& [process, share] : bytes) {
      if (share > most) best = process, most = share;
    }
    return best;
  }

  [[nodiscard]] Processes where_operands_lie(std::size_t k) const {
    const WorkflowOp& tasks = workflow_.ops[k];
    const std::vector<std::vector<TaskNumber>> applies = applies_of(tasks);
    const auto in_turn = [&](Index block) { return static_cast<std::int32_t>(block % ranks_); };
    if (!may_split(region_.ops[k].op)) {
      return by_block(
          tasks, [&](Index block) { return largest_share(applies[static_cast<std::size_t>(block)], in_turn(block)); });
    }
    Processes processes(size_of(tasks), kNobody);
    const auto process = [&](TaskNumber n) -> std::int32_t& {
      return processes[static_cast<std::size_t>(n - tasks.first)];
    };
    for (std::size_t b = 0; b < applies.size(); ++b) {
      std::int32_t least = kNobody;
      for (const TaskNumber n : applies[b]) {
        process(n) = largest_share({n}, in_turn(static_cast<Index>(b)));
        for (TaskInput pair = first_input(n); workflow_.task(pair.task).kind == TaskKind::kPair;
             pair = first_input(pair.task))
          process(pair.task) = process(n);
        if (least == kNobody || loads_.of(process(n)) < loads_.of(least)) least = process(n);
      }
      process(tasks.result[b]) = least;
    }
    return processes;
  }

  /// A task without inputs is its own first input.
  [[nodiscard]] TaskInput first_input(TaskNumber n) const {
    const std::span<const TaskInput> inputs = workflow_.inputs_of(workflow_.task(n));
    return inputs.empty() ? TaskInput{n, 0} : inputs.front();
  }

  const Region& region_;
  Workflow& workflow_;
  Index ranks_;
  const SitePreferences* settled_;
  SitePreferences preferences_;
  TaskLoads loads_;
  Index single_blocks_ = 0;
};

Workflow scheduled_by_pattern(const Region& region, const PlanInputs& inputs, const BlockRequest& blocks) {
  Workflow workflow = workflow_of(region, inputs, {{1}, inputs.ranks * blocks.per_rank}, blocks.most_tasks);
  schedule_pattern(region, inputs, workflow);
  return workflow;
}

/// A well-distributed hash of several coordinates.
Index hashed(const std::vector<Index>& block) {
  std::uint64_t h = 1469598103934665603ULL;
  for (const Index c : block) h = (h ^ static_cast<std::uint64_t>(c)) * 1099511628211ULL;
  return static_cast<Index>((h ^ (h >> 29)) >> 1);
}

}  // namespace

const Schedule schedules::kPattern{"pattern", "by patterns of tasks", nullptr, scheduled_by_pattern};

Index pattern_process(const std::vector<Index>& block, PatternRule rule, Index level, Index processes) {
  const Index rows = std::max<Index>(static_cast<Index>(std::sqrt(static_cast<double>(processes))), 1);
  const Index columns = processes / rows;
  if (block.empty()) return level % processes;
  if (block.size() == 1 || rule == PatternRule::kRowsOnly) return (block[0] + level) % processes;
  if (rule == PatternRule::kColumnsOnly) return (block[1] + level) % processes;
  if (block.size() > 3) return (hashed(block) % processes + level) % processes;
  return (block[0] % rows * columns + block[1] % columns + level) % processes;
}

void schedule_pattern(const Region& region, const PlanInputs& inputs, Workflow& workflow) {
  PatternSchedule each(region, inputs, workflow, nullptr);
  each.run();
  const SitePreferences& preferences = each.preferences();
  const bool differ = std::ranges::any_of(preferences, [](const auto& site) { return site.second.differs; });
  if (differ) PatternSchedule(region, inputs, workflow, &preferences).run();
}

}  // namespace tdsl::plan
