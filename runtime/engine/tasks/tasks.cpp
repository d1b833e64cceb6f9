#include "runtime/engine/tasks/tasks.h"

#include <utility>

#include "runtime/engine/messages/lists.h"
#include "runtime/engine/tasks/call.h"

namespace tdsl::rt {

void Tasks::create(OperationRun& operation, const plan::Task& task, Index step) {
  TaskRun& run = operation.tasks.emplace_back();
  run.self = std::prev(operation.tasks.end());
  run.operation = &operation;
  run.task = task;
  run.out_box = operation.space.out_box(task.tile);
  run.out_number = operation.space.plan().space.linear(task.tile);
  run.step = step;
  run.panel = operation.step.panel;
  run.order = next_order_++;
  ++operation.tasks_begun;
  if (task.first) {
    const plan::Estimate bytes = operation.space.output_bytes(task.tile);
    footprint_.promised += footprint_.counted(bytes);
    footprint_.output += bytes.expected_bytes();
  }
  const plan::Op& op = operation.op();
  run.labels = operation.space.label_intervals(task.tile, task.panel);
  if (!task.hit) run.labels.assign(run.labels.size(), Interval{0, 0});
  const bool computes = task.hit && operation.space.points(run.labels) > 0;
  for (const plan::Access& access : op.reads) {
    Box box = operation.space.access_box(access, run.labels);
    if (!computes) {
      for (int d = 0; d < box.rank; ++d) box[d] = {0, 0};
      run.inputs.push_back({nullptr, 0, false, box, {}});
      continue;
    }
    run.inputs.push_back(find_input(run, access.tensor, box));
  }
  if (op.base >= 0 && task.first) {
    run.base = find_input(run, op.base, run.out_box);
    for (const InputPart& part : run.base.parts)
      TDSL_CHECK(part.local != nullptr || part.remote->source == context_.me, "the base of a block lies on its owner");
  }
  wait_for_panel(run);
  if (op.ordered) operations_.wait_for_effect(run);
  if (run.missing == 0) ready_.push(run);
}

void Tasks::inspect(OperationRun& operation, const std::shared_ptr<Meetings>& meetings, std::size_t walked,
                    Index step) {
  TaskRun& run = operation.tasks.emplace_back();
  run.self = std::prev(operation.tasks.end());
  run.operation = &operation;
  run.inspects = meetings;
  run.step = step;
  run.order = next_order_++;
  TensorInstance& tensor = context_.tensors.at(meetings->key.tensor);
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
  task.operation->tasks.erase(task.self);
}

/// The task reads the own block, and waits until it is complete.
void Tasks::add_local(TaskRun& task, InputPart& part, Block& block) {
  ++block.uses;
  part.local = &block;
  if (block.complete) return;
  block.waiting_tasks.push_back(&task);
  ++task.missing;
}

Input Tasks::find_input(TaskRun& task, plan::TensorId id, const Box& box) {
  OperationRun& operation = *task.operation;
  TensorInstance& tensor = context_.tensors.at(id);
  Input input{&tensor, tensor.element_bytes(), tensor.sized(), box, {}};
  const plan::Distribution& distribution = tensor.placed.distribution;
  const OperationRun::Pieces& pieces = operation.pieces_of(id);
  operation.space.for_each_piece(id, box, [&](const plan::Coord& coord, const plan::Piece& piece) {
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
  });
  return input;
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
  operation.tasks.erase(task.self);
}

void Tasks::release(Input& input) {
  for (InputPart& part : input.parts) {
    if (part.local == nullptr) continue;
    --part.local->uses;
  }
  for (const InputPart& part : std::exchange(input.parts, {})) {
    if (part.local != nullptr) context_.tensors.free_if_unheld(*input.tensor, part.number);
  }
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
