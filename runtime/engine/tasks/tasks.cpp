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

void Tasks::create(OperationRun& operation, const plan::Task& task, Index step) {
  TaskRun& run = enter(operation, step);
  run.task = task;
  run.out_box = operation.space.out_box(task.tile);
  run.out_number = operation.space.plan().space.linear(task.tile);
  run.panel = operation.step.panel;
  ++operation.tasks_begun;
  if (task.first) {
    const plan::Estimate bytes = operation.space.output_bytes(task.tile);
    footprint_.promised += footprint_.counted(bytes);
    footprint_.output += bytes.expected_bytes();
  }
  const plan::Op& op = operation.op();
  operation.space.label_intervals(task.tile, task.panel, run.labels);
  if (!task.hit) run.labels.assign(run.labels.size(), Interval{0, 0});
  const Index points = operation.space.points(run.labels);
  const bool computes = task.hit && points > 0;
  run.predicted = computes ? static_cast<double>(points) * operation.seconds_per_point : 0;
  run.inputs.resize(op.reads.size());
  for (std::size_t k = 0; k < op.reads.size(); ++k) {
    Input& input = run.inputs[k];
    Box box = operation.space.access_box(op.reads[k], run.labels);
    if (computes) {
      find_input(run, input, op.reads[k].tensor, box);
      continue;
    }
    for (int d = 0; d < box.rank; ++d) box[d] = {0, 0};
    input.tensor = nullptr;
    input.element_bytes = 0;
    input.sized = false;
    input.box = box;
  }
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
    const plan::Estimate bytes = operation.space.output_bytes(task.task.tile);
    footprint_.output -= bytes.expected_bytes();
    if (operation.sized_output) footprint_.promised -= footprint_.counted(bytes);
    for (std::size_t k = 0; k < operation.outputs.size(); ++k) {
      if (!output_box(task, k).empty()) complete_block(*operation.outputs[k], task.out_number);
    }
  }
  if (task.next_panel != nullptr) ready_.satisfy(*task.next_panel);
  if (const auto last = operation.last_panel.find(task.out_number);
      last != operation.last_panel.end() && last->second == &task) {
    operation.last_panel.erase(last);
  }
  leave(task);
}

void Tasks::release(Input& input) {
  for (InputPart& part : input.parts) {
    if (part.local == nullptr) continue;
    --part.local->uses;
  }
  for (InputPart& part : input.parts) {
    part.remote = nullptr;
    if (part.local != nullptr) context_.tensors.free_if_unheld(*input.tensor, part.number);
  }
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
