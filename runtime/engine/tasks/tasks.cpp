#include "runtime/engine/tasks/tasks.h"

#include <functional>
#include <iterator>
#include <utility>

#include "runtime/engine/messages/lists.h"
#include "runtime/engine/tasks/call.h"

namespace tdsl::rt {

namespace {

constexpr std::size_t kMostSpare = 2048;
/// More parts of an operand are not worth keeping memory for.
constexpr std::size_t kMostKeptParts = 16;

}  // namespace

/// A new task of the operation.
TaskRun& Tasks::enter(OperationRun& operation, Index step) {
  if (spare_.empty()) spare_.emplace_back();
  operation.tasks.splice(operation.tasks.end(), spare_, spare_.begin());
  TaskRun& run = operation.tasks.back();
  run.self = std::prev(operation.tasks.end());
  run.operation = &operation;
  run.task = {};
  run.out_box = {};
  run.out_number = 0;
  run.base.tensor = nullptr;
  run.missing = 0;
  run.next_panel = nullptr;
  run.step = step;
  run.running_since = -1;
  run.order = next_order_++;
  run.panel = 0;
  run.last_request = 0;
  run.predicted = 0;
  return run;
}

/// Removes a task whose operands have been released.
void Tasks::leave(TaskRun& task) {
  std::list<TaskRun>& tasks = task.operation->tasks;
  if (spare_.size() >= kMostSpare) {
    tasks.erase(task.self);
    return;
  }
  task.inspects = nullptr;
  spare_.splice(spare_.begin(), tasks, task.self);
}

void Tasks::promise_output(const TaskRun& task) {
  const plan::Estimate bytes = task.operation->space.output_bytes(task.task.tile);
  footprint_.promised += footprint_.counted(bytes);
  footprint_.output += bytes.expected_bytes();
}

void Tasks::create(OperationRun& operation, const plan::Task& task, Index step) {
  TaskRun& run = enter(operation, step);
  const bool computes = locate(run, task, operation.step.panel);
  ++operation.tasks_begun;
  if (task.first) promise_output(run);
  const plan::Op& op = operation.op();
  for (std::size_t k = 0; computes && k < op.reads.size(); ++k)
    find_input(run, run.inputs[k], op.reads[k].tensor, Box(run.inputs[k].box));
  if (op.base >= 0 && task.first) {
    find_input(run, run.base, op.base, run.out_box);
    for (const InputPart& part : run.base.parts)
      TDSL_CHECK(part.local != nullptr || part.remote->source == context_.me, "the base of a block lies on its owner");
  }
  wait_for_panel(run);
  if (op.ordered) operations_.wait_for_effect(run);
  if (run.missing == 0) ready_.push(run);
}

void Tasks::inspect(OperationRun& operation, const std::shared_ptr<Meetings>& meetings, std::size_t walked,
                    Index step) {
  TaskRun& run = enter(operation, step);
  run.inspects = meetings;
  run.labels.clear();
  TensorInstance& tensor = context_.tensors.at(meetings->key.tensor);
  run.inputs.clear();
  run.inputs.resize(operation.op().reads.size());
  Input& input = run.inputs[walked];
  input.tensor = &tensor;
  input.sized = true;
  for (const Index number : meetings->key.blocks) {
    InputPart part{tensor.box_of(number), number, nullptr, nullptr};
    add_local(run, part, context_.tensors.block(tensor, number));
    input.parts.push_back(std::move(part));
  }
  if (run.missing == 0) ready_.push(run);
}

void Tasks::end_inspection(TaskRun& task) {
  for (Input& input : task.inputs) release(input);
  leave(task);
}

/// The task reads the own block, and waits until it is complete.
void Tasks::add_local(TaskRun& task, InputPart& part, Block& block) {
  ++block.uses;
  part.local = &block;
  if (block.complete) return;
  block.waiting_tasks.push_back(&task);
  ++task.missing;
}

/// Fills the operand, whose parts are empty.
void Tasks::find_input(TaskRun& task, Input& input, plan::TensorId id, const Box& box) {
  OperationRun& operation = *task.operation;
  TensorInstance& tensor = context_.tensors.at(id);
  input.tensor = &tensor;
  input.element_bytes = tensor.element_bytes();
  input.sized = tensor.sized();
  input.box = box;
  const plan::Distribution& distribution = tensor.placed.distribution;
  const OperationRun::Pieces& pieces = operation.pieces_of(id);
  const auto add = [&](const plan::Coord& coord, const plan::Piece& piece) {
    InputPart part{piece.box, piece.block, nullptr, nullptr};
    if (distribution.owns(context_.me, coord) && !tensor.away(coord)) {
      add_local(task, part, context_.tensors.block(tensor, piece.block));
    } else {
      const auto found = pieces.find(piece);
      TDSL_CHECK(found != pieces.end(), "a remote box that a task reads was fetched");
      part.remote = found->second;
      if (!part.remote->arrived) {
        part.remote->waiting.push_back(&task);
        ++task.missing;
      }
    }
    input.parts.push_back(std::move(part));
  };
  operation.space.for_each_piece(id, box, std::cref(add));  // by reference: no allocation
}

/// Panels of one output tile run in order.
void Tasks::wait_for_panel(TaskRun& task) {
  auto& last_panel = task.operation->last_panel;
  if (!task.task.first) {
    const auto previous = last_panel.find(task.out_number);
    if (previous != last_panel.end()) {
      previous->second->next_panel = &task;
      ++task.missing;
    }
  }
  if (!task.task.last) last_panel[task.out_number] = &task;
}

void Tasks::complete(TaskRun& task) {
  OperationRun& operation = *task.operation;
  for (Input& input : task.inputs) release(input);
  release(task.base);
  if (task.task.last) {
    operation.last_panel.erase(task.out_number);
    complete_outputs(task);
  }
  if (task.next_panel != nullptr) ready_.satisfy(*task.next_panel);
  if (const auto last = operation.last_panel.find(task.out_number);
      last != operation.last_panel.end() && last->second == &task) {
    operation.last_panel.erase(last);
  }
  leave(task);
}

void Tasks::complete_outputs(const TaskRun& task) {
  const OperationRun& operation = *task.operation;
  const plan::Estimate bytes = operation.space.output_bytes(task.task.tile);
  footprint_.output -= bytes.expected_bytes();
  if (operation.sized_output) footprint_.promised -= footprint_.counted(bytes);
  for (std::size_t k = 0; k < operation.outputs.size(); ++k) {
    if (!output_box(task, k).empty()) complete_block(*operation.outputs[k], task.out_number);
  }
}

void Tasks::bind(RepeatedOperation& operation) {
  const auto bind_parts = [](Input& input, TensorInstance* tensor, TensorTable& tensors) {
    input.tensor = tensor;
    for (InputPart& part : input.parts) {
      part.local = &tensors.block(*tensor, part.number);
      TDSL_CHECK(part.local->complete, "a repeated operation reads complete blocks");
      ++part.local->uses;
    }
  };
  for (TaskRun& task : operation.run.tasks) {
    if (task.task.first) promise_output(task);
    for (std::size_t k = 0; k < task.inputs.size(); ++k)
      bind_parts(task.inputs[k], operation.reads[k], context_.tensors);
    bind_parts(task.base, operation.reads.back(), context_.tensors);
  }
}

void Tasks::end_repeated(TaskRun& task) {
  for (Input& input : task.inputs) let_go(input);
  let_go(task.base);
  if (task.task.last) complete_outputs(task);
}

/// Gives up the operand's blocks and pieces.
void Tasks::let_go(Input& input) {
  for (InputPart& part : input.parts) {
    if (part.local == nullptr) continue;
    --part.local->uses;
  }
  for (InputPart& part : input.parts) {
    part.remote = nullptr;
    if (part.local != nullptr) context_.tensors.free_if_unheld(*input.tensor, part.number);
    part.local = nullptr;
  }
}

void Tasks::release(Input& input) {
  let_go(input);
  input.parts.clear();
  if (input.parts.capacity() > kMostKeptParts) input.parts.shrink_to_fit();
}

void Tasks::complete_block(TensorInstance& tensor, Index number) {
  Block& block = context_.tensors.block(tensor, number);
  block.complete = true;
  --tensor.incomplete;
  for (TaskRun* task : std::exchange(block.waiting_tasks, {})) ready_.satisfy(*task);
  for (const Request& request : std::exchange(block.waiting_requests, {})) answers_.answer(tensor, request);
  if (tensor.placed.housing.home != plan::Home::kMemory && tensor.away(tensor.placed.distribution.coord(number)))
    disk_.write_back(tensor, number);
  context_.tensors.free_if_unheld(tensor, number);
}

}  // namespace tdsl::rt
