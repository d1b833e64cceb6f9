#include <array>

#include "runtime/plan/workflow/workflow.h"

namespace tdsl::plan {

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
