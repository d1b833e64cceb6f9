#include "runtime/plan/workflow/workflow.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "runtime/plan/steps/steps.h"

namespace tdsl::plan {

namespace {

std::vector<Index> coordinates_in(const std::vector<Tiling>& cut, Index number) {
  std::vector<Index> at(cut.size());
  for (std::size_t d = cut.size(); d-- > 0;) {
    const Index count = std::max<Index>(cut[d].tiles(), 1);  // an empty reduce label has one panel without points
    at[d] = number % count;
    number /= count;
  }
  return at;
}

/// A tensor with known blocks.
struct Blocks {
  PlacedTensor tensor;  ///< its distribution determines its cuts
  std::size_t op = 0;   ///< the operation of the region that creates it
};

class WorkflowBuilder {
 public:
  WorkflowBuilder(const Region& region, const PlanInputs& inputs, const GridSettings& settings, Index most)
      : region_(region), most_(most), cuts_(block_cuts(region, inputs, settings)) {}

  Workflow build() {
    int run = 0;
    for (std::size_t k = 0; k < region_.ops.size(); ++k) {
      if (region_.ops[k].run != run) blocks_.clear();
      run = region_.ops[k].run;
      add_operation(k);
    }
    return std::move(workflow_);
  }

 private:
  void add_operation(std::size_t k) {
    const Op& op = region_.ops[k].op;
    workflow_.ops.push_back({std::move(cuts_[k]), static_cast<TaskNumber>(workflow_.tasks.size()), 0, {}, 0, 0});
    if (!op.outputs.empty() && op.op_class != OpClass::kStore && op.op_class != OpClass::kCollect) {
      enter_outputs(k);
      const bool source = op.is_source();
      source ? add_loads(k) : add_applies(k);
      set_level(k);
    }
    workflow_.ops.back().end = static_cast<TaskNumber>(workflow_.tasks.size());
  }

  void enter_outputs(std::size_t k) {
    const Op& op = region_.ops[k].op;
    const OpPlan plan = plan_of(k);
    for (const TensorDesc& output : op.outputs)
      blocks_.insert_or_assign(output.id, Blocks{{output, distribution_of(op, plan, output)}, k});
  }

  [[nodiscard]] OpPlan plan_of(std::size_t k) const {
    const BlockCut& cut = workflow_.ops[k].cut;
    OpPlan plan;
    plan.space = Distribution::single(1, cut.out, 0);
    plan.reduce = cut.reduce;
    return plan;
  }

  void add_loads(std::size_t k) {
    const Op& op = region_.ops[k].op;
    const Distribution blocks = Distribution::single(1, workflow_.ops[k].cut.out, 0);
    make_room(blocks.tile_count());
    for (Index block = 0; block < blocks.tile_count(); ++block) {
      WorkflowTask task = new_task(TaskKind::kLoad, k, block, 0);
      task.bytes = static_cast<double>(blocks.box(blocks.coord(block)).volume()) * op.outputs.front().mean_bytes();
      workflow_.ops[k].result.push_back(add(task, {}));
    }
  }

  void add_applies(std::size_t k) {
    const Op& op = region_.ops[k].op;
    const OpPlan plan = plan_of(k);
    const TensorLookup lookup = [this](TensorId id) -> const PlacedTensor& { return blocks_.at(id).tensor; };
    const TaskSpace space(op, plan, lookup);
    make_room_for_applies(space);
    std::vector<std::vector<TaskNumber>> applies;  // per block of the result
    for (Index block = 0; block < plan.space.tile_count(); ++block) {
      const Coord tile = plan.space.coord(block);
      const Index panels = space.hit(tile) ? space.panels() : 1;
      applies.emplace_back();
      for (Index panel = 0; panel < panels; ++panel) applies.back().push_back(add_apply(k, space, tile, panel));
    }
    for (Index block = 0; block < plan.space.tile_count(); ++block) {
      const std::vector<TaskNumber>& parts = applies[static_cast<std::size_t>(block)];
      if (op.reduce.empty()) {
        workflow_.ops[k].result.push_back(parts.front());
        continue;
      }
      WorkflowTask task = new_task(TaskKind::kReduce, k, block, 0);
      task.bytes = space.output_bytes(plan.space.coord(block)).expected;
      task.flops =
          static_cast<double>(plan.space.box(plan.space.coord(block)).volume()) * static_cast<double>(parts.size() - 1);
      std::vector<TaskInput> inputs;
      for (const TaskNumber part : parts) inputs.push_back({part, workflow_.task(part).bytes});
      workflow_.ops[k].result.push_back(add(task, inputs));
    }
  }

  void make_room_for_applies(const TaskSpace& space) {
    const Distribution& blocks = space.plan().space;
    make_room(blocks.tile_count());
    Index applies = 0;
    for (Index block = 0; block < blocks.tile_count(); ++block)
      applies += space.hit(blocks.coord(block)) ? space.panels() : 1;
    make_room(applies + (space.op().reduce.empty() ? 0 : blocks.tile_count()));
  }

  TaskNumber add_apply(std::size_t k, const TaskSpace& space, const Coord& tile, Index panel) {
    const Op& op = region_.ops[k].op;
    WorkflowTask apply = new_task(TaskKind::kApply, k, space.plan().space.linear(tile), panel);
    apply.bytes = space.output_bytes(tile).expected;
    std::vector<TaskInput> blocks;
    if (op.base >= 0) add_blocks(op.base, space, space.out_box(tile), blocks);
    if (space.hit(tile)) {
      const std::vector<Interval> labels = space.label_intervals(tile, space.panel(tile, panel));
      const Index points = space.points(labels);
      apply.flops = static_cast<double>(points) * op.flops_per_point;
      for (const Access& access : op.reads) {
        if (points > 0 && blocks_.contains(access.tensor))
          add_blocks(access.tensor, space, space.access_box(access, labels), blocks);
      }
    }
    std::vector<TaskInput> paired(blocks.begin(), blocks.begin() + (blocks.empty() ? 0 : 1));
    for (std::size_t b = 1; b < blocks.size(); ++b) {
      WorkflowTask pair = new_task(TaskKind::kPair, k, apply.block, panel);
      paired.push_back(blocks[b]);
      for (const TaskInput& input : paired) pair.bytes += input.bytes;
      paired = {{add(pair, paired), pair.bytes}};
    }
    workflow_.ops[k].joins = std::max(workflow_.ops[k].joins, static_cast<int>(blocks.size()) - 1);
    return add(apply, paired);
  }

  /// The tasks that create the blocks of a box; bytes of tasks already listed accumulate.
  void add_blocks(TensorId tensor, const TaskSpace& space, const Box& box, std::vector<TaskInput>& list) const {
    const auto found = blocks_.find(tensor);
    if (found == blocks_.end()) return;
    const std::vector<TaskNumber>& results = workflow_.ops[found->second.op].result;
    const bool one_task = region_.ops[found->second.op].op.op_class == OpClass::kLoop;
    const double element = found->second.tensor.desc.mean_bytes();
    const auto add = [&](Index block, Index elements) {
      const TaskNumber task = results[static_cast<std::size_t>(one_task ? 0 : block)];
      const auto known = std::ranges::find_if(list, [task](const TaskInput& input) { return input.task == task; });
      TaskInput& input = known == list.end() ? list.emplace_back(TaskInput{task, 0}) : *known;
      input.bytes = std::min(input.bytes + static_cast<double>(elements) * element, workflow_.task(task).bytes);
    };
    if (box.rank == 0) return add(0, 1);
    space.for_each_piece(tensor, box, [&](const Coord&, const Piece& piece) { add(piece.block, piece.box.volume()); });
  }

  void set_level(std::size_t k) {
    WorkflowOp& mine = workflow_.ops[k];
    const Op& op = region_.ops[k].op;
    const auto follow = [&](TensorId tensor) {
      const auto found = blocks_.find(tensor);
      if (found == blocks_.end() || found->second.op >= k) return;
      const WorkflowOp& other = workflow_.ops[found->second.op];
      mine.level = std::max(mine.level, other.level + (other.joins > 0 ? 1 : 0));
    };
    for (const Access& access : op.reads) follow(access.tensor);
    if (op.base >= 0) follow(op.base);
  }

  [[nodiscard]] static WorkflowTask new_task(TaskKind kind, std::size_t k, Index block, Index panel) {
    WorkflowTask task;
    task.kind = kind;
    task.op = static_cast<std::int32_t>(k);
    task.block = block;
    task.panel = panel;
    return task;
  }

  /// Checks that this many more tasks, including Pairs, stay within the limit.
  void make_room(Index tasks) const {
    if (static_cast<Index>(workflow_.tasks.size()) + tasks <= most_) return;
    throw NoPlan("the task workflow has more than " + std::to_string(most_) + " tasks; a larger --tile gives fewer");
  }

  TaskNumber add(WorkflowTask task, const std::vector<TaskInput>& inputs) {
    make_room(1);
    task.first_input = static_cast<TaskNumber>(workflow_.inputs.size());
    task.inputs = static_cast<TaskNumber>(inputs.size());
    workflow_.inputs.insert(workflow_.inputs.end(), inputs.begin(), inputs.end());
    workflow_.tasks.push_back(task);
    return static_cast<TaskNumber>(workflow_.tasks.size() - 1);
  }

  const Region& region_;
  Index most_;
  std::vector<BlockCut> cuts_;
  std::unordered_map<TensorId, Blocks> blocks_;
  Workflow workflow_;
};

}  // namespace

const char* name_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::kLoad: return "load";
    case TaskKind::kPair: return "pair";
    case TaskKind::kApply: return "apply";
    case TaskKind::kReduce: return "reduce";
  }
  return "?";
}

std::vector<TaskInput> Workflow::blocks_of(const WorkflowTask& apply) const {
  std::vector<TaskInput> blocks;
  if (apply.inputs == 0) return blocks;
  TaskInput left = inputs_of(apply).front();
  for (; task(left.task).kind == TaskKind::kPair; left = inputs_of(task(left.task)).front())
    blocks.push_back(inputs_of(task(left.task)).back());
  blocks.push_back(left);
  std::reverse(blocks.begin(), blocks.end());
  return blocks;
}

std::vector<Index> Workflow::block_coordinates(const WorkflowTask& task) const {
  return coordinates_in(ops[static_cast<std::size_t>(task.op)].cut.out, task.block);
}

std::vector<Index> Workflow::panel_coordinates(const WorkflowTask& task) const {
  return coordinates_in(ops[static_cast<std::size_t>(task.op)].cut.reduce, task.panel);
}

Workflow workflow_of(const Region& region, const PlanInputs& inputs, const GridSettings& settings, Index most) {
  return WorkflowBuilder(region, inputs, settings, most).build();
}

namespace {

std::string list_of(const std::vector<Index>& numbers) {
  std::string text = "[";
  for (std::size_t k = 0; k < numbers.size(); ++k) text += (k > 0 ? ", " : "") + std::to_string(numbers[k]);
  return text + "]";
}

/// `C[0, 1]`, or for one of several summands `C[0, 1] panel [2]`.
std::string made_by(const Workflow& workflow, const Region& region, const WorkflowTask& task) {
  const Op& op = region.ops[static_cast<std::size_t>(task.op)].op;
  std::string text = op.name + list_of(workflow.block_coordinates(task));
  const bool part = task.kind == TaskKind::kPair || task.kind == TaskKind::kApply;
  if (part && !op.reduce.empty()) text += " panel " + list_of(workflow.panel_coordinates(task));
  return text;
}

std::string process_name(std::int32_t process) {
  return process == kEverybody ? "every rank" : "rank " + std::to_string(process);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// Distinguishable colours for neighbouring ranks; further ranks reuse them cyclically.
constexpr std::array kColours = {"#8dd3c7", "#ffffb3", "#bebada", "#fb8072", "#80b1d3", "#fdb462",
                                 "#b3de69", "#fccde5", "#d9d9d9", "#bc80bd", "#ccebc5", "#ffed6f"};

}  // namespace

std::string print(const Workflow& workflow, const Region& region) {
  std::string text = "workflow of " + std::to_string(workflow.tasks.size()) + " tasks\n";
  for (std::size_t n = 0; n < workflow.tasks.size(); ++n) {
    const WorkflowTask& task = workflow.tasks[n];
    text += std::to_string(n) + ' ' + name_of(task.kind) + ' ' + made_by(workflow, region, task);
    const std::span<const TaskInput> inputs = workflow.inputs_of(task);
    for (std::size_t k = 0; k < inputs.size(); ++k) text += (k == 0 ? " of " : " ") + std::to_string(inputs[k].task);
    if (task.process != kNobody) text += " on " + process_name(task.process);
    text += '\n';
  }
  return text;
}

std::string print_dot(const Workflow& workflow, const Region& region) {
  std::string text = "digraph workflow {\n  node [shape=box, style=filled, fillcolor=white];\n";
  for (std::size_t n = 0; n < workflow.tasks.size(); ++n) {
    const WorkflowTask& task = workflow.tasks[n];
    text +=
        "  t" + std::to_string(n) + " [label=\"" + name_of(task.kind) + ' ' + escaped(made_by(workflow, region, task));
    if (task.process != kNobody) text += "\\n" + process_name(task.process);
    text += '"';
    if (task.process >= 0)
      text += std::string(", fillcolor=\"") + kColours[static_cast<std::size_t>(task.process) % kColours.size()] + '"';
    text += "];\n";
  }
  for (std::size_t n = 0; n < workflow.tasks.size(); ++n) {
    for (const TaskInput& input : workflow.inputs_of(workflow.tasks[n]))
      text += "  t" + std::to_string(input.task) + " -> t" + std::to_string(n) + ";\n";
  }
  return text + "}\n";
}

}  // namespace tdsl::plan
