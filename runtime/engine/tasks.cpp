#include <algorithm>
#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/kernels/copy.h"

namespace tdsl::rt {

/// A task about to run: what its kernel is called with, and what must be copied before.
struct Engine::State::Call {
  struct Assembly {
    Operand whole;
    Index element_bytes = 0;
    std::vector<Operand> parts;
    BufferRef buffer;  ///< of the whole, if it is ours alone
  };
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  std::vector<Assembly> assemblies;
  const Block* taken = nullptr;  ///< the base's block whose buffer becomes the output's: other reads of it are copied first
  bool fresh = false;
  bool run_kernel = true;
};

namespace {

/// Seconds between polls of a rank that has tasks to run: shorter tasks share a poll, and what they complete shares messages.
constexpr double kPollEvery = 10e-6;

Operand operand_of(const Input& input, const InputPart& part) {
  return part.local != nullptr ? row_major(part.local->buffer->data(), input.tensor->box_of(part.number))
                               : row_major(part.remote->buffer->data(), part.remote->box);
}

}  // namespace

void Engine::State::satisfy(TaskRun& task) {
  if (--task.missing == 0) make_ready(task);
}

void Engine::State::make_ready(TaskRun& task) {
  ready.push(&task);
  if (sleeping > 0) wake.notify_one();
}

TaskRun* Engine::State::pop_ready() {
  if (ready.empty()) return nullptr;
  TaskRun* const task = ready.top();
  ready.pop();
  was_idle = false;
  return task;
}

void Engine::State::run_task(Lock& lock, TaskRun& task) {
  Call call;
  prepare(task, call);
  lock.unlock();
  delays.pause();
  const double start = now();
  assemble(task, call);
  if (call.run_kernel) {
    TaskArgs args;
    args.labels = task.labels;
    args.inputs = call.inputs;
    args.outputs = call.outputs;
    args.out_box = task.out_box;
    args.first = task.task.first;
    args.last = task.task.last;
    args.hit = task.task.hit;
    args.fresh = call.fresh;
    task.operation->kernel(args);
  }
  const double end = now();
  call.assemblies.clear();
  lock.lock();
  count(task, start, end, call.run_kernel);
  complete(task);
  if (world.size() == 1 || (!ready.empty() && end - last_poll < kPollEvery)) return;
  lock.unlock();
  poll();
  lock.lock();
}

/// Under the lock: finds the operands' memory and begins the output blocks.
void Engine::State::prepare(TaskRun& task, Call& call) {
  const Block* const replaced = replaced_block(task);
  if (replaced != nullptr && task.task.hit && may_take_over(task, *replaced)) call.taken = replaced;
  for (std::size_t k = 0; k < task.inputs.size(); ++k) {
    const Input& input = task.inputs[k];
    const bool packed = must_pack(task, input);
    if (packed) packed_bytes += input.box.volume() * input.element_bytes;
    const bool overwritten = call.taken != nullptr && !task.operation->pointwise_base[k];
    if (input.parts.size() == 1 && !packed && !(overwritten && input.parts[0].local == call.taken)) {
      call.inputs.push_back(part_of(operand_of(input, input.parts[0]), input.box, input.element_bytes));
      continue;
    }
    if (input.parts.empty()) {
      call.inputs.push_back(row_major(nullptr, input.box));
      continue;
    }
    Call::Assembly assembly;
    assembly.element_bytes = input.element_bytes;
    assembly.buffer = store.allocate(input.box.volume() * input.element_bytes);
    assembly.whole = row_major(assembly.buffer->data(), input.box);
    for (const InputPart& part : input.parts) assembly.parts.push_back(part_of(operand_of(input, part), part.box, input.element_bytes));
    call.inputs.push_back(assembly.whole);
    call.assemblies.push_back(std::move(assembly));
  }
  if (task.task.first) begin_outputs(task, call);
  for (TensorInstance* output : task.operation->outputs) {
    call.outputs.push_back(row_major(tensors.block(*output, task.out_number).buffer->data(), task.out_box));
  }
}

/// Strides and alignment may decide how a kernel sums. A part of a block has the block's; received, it has its own.
bool Engine::State::must_pack(const TaskRun& task, const Input& input) const {
  if (!task.operation->planned->plan.packed || input.parts.size() != 1) return false;
  const InputPart& part = input.parts[0];
  return part.local != nullptr && input.tensor->box_of(part.number) != input.box;
}

/// The first panel's task gives its output blocks a buffer: new, the base's own when nothing else needs it, or shared
/// with the base where the operation writes nothing.
void Engine::State::begin_outputs(TaskRun& task, Call& call) {
  const OperationRun& operation = *task.operation;
  call.fresh = operation.op().base < 0;
  promised_bytes -= operation.space.output_bytes(task.task.tile);
  for (std::size_t k = 0; k < operation.outputs.size(); ++k) {
    TensorInstance& output = *operation.outputs[k];
    Block& block = tensors.block(output, task.out_number);
    const Index bytes = task.out_box.volume() * output.element_bytes();
    if (call.fresh) {
      block.buffer = store.allocate(bytes);
      continue;
    }
    TDSL_CHECK(operation.outputs.size() == 1, "an operation with a base has one output");
    const Input& base = task.base;
    call.run_kernel = task.task.hit;
    if (replaced_block(task) != nullptr && (!task.task.hit || call.taken != nullptr)) {
      Block& old = *base.parts[0].local;
      block.buffer = task.task.hit ? std::move(old.buffer) : old.buffer;
      continue;
    }
    block.buffer = store.allocate(bytes);
    Call::Assembly copy;
    copy.element_bytes = output.element_bytes();
    copy.whole = row_major(block.buffer->data(), task.out_box);
    for (const InputPart& part : base.parts) copy.parts.push_back(part_of(operand_of(base, part), part.box, base.element_bytes));
    call.assemblies.push_back(std::move(copy));
  }
}

/// The base's block that lies exactly where the output's will, if there is one.
const Block* Engine::State::replaced_block(const TaskRun& task) const {
  const Input& base = task.base;
  if (!task.task.first || task.operation->op().base < 0 || base.parts.size() != 1) return nullptr;
  return base.tensor->box_of(base.parts[0].number) == task.out_box ? base.parts[0].local : nullptr;
}

/// Only this task still needs the base's block, and what it reads of it elsewhere than where it writes is less to copy
/// than the block.
bool Engine::State::may_take_over(const TaskRun& task, const Block& block) const {
  const OperationRun& operation = *task.operation;
  const TensorInstance& tensor = *task.base.tensor;
  Index own_uses = 1;
  Index copied = 0;
  for (std::size_t k = 0; k < task.inputs.size(); ++k) {
    for (const InputPart& part : task.inputs[k].parts) {
      if (part.local != &block) continue;
      ++own_uses;
      if (!operation.pointwise_base[k]) copied += part.box.volume();
    }
  }
  if (copied >= task.out_box.volume() && copied > 0) return false;
  if (tensor.named || tensor.readers != (operation.admitted ? 0 : 1)) return false;
  if (!operation.admitted && !operation.base_read_in_place) return false;
  return block.uses == own_uses && block.requests == 0 && block.sends == 0 && block.buffer.use_count() == 1;
}

/// Outside the lock.
void Engine::State::assemble(const TaskRun&, Call& call) {
  for (const Call::Assembly& assembly : call.assemblies) {
    for (const Operand& part : assembly.parts) copy_box(part, assembly.whole, part.box, assembly.element_bytes);
  }
}

void Engine::State::count(const TaskRun& task, double start, double end, bool kernel) {
  const OperationRun& operation = *task.operation;
  const plan::Op& op = operation.op();
  SiteStatistics& site = sites[op.site];
  if (site.tasks == 0) {
    site.site = op.site;
    site.line = op.line;
    site.kind = name_of(op.op_class);
    site.first_start = start;
  }
  ++site.tasks;
  site.first_start = std::min(site.first_start, start);
  site.last_end = std::max(site.last_end, end);
  if (!kernel) return;
  ++site.kernels;
  if (task.task.hit) site.flops += op.flops_per_point * static_cast<double>(operation.space.points(task.labels));
}

void Engine::State::complete(TaskRun& task) {
  OperationRun& operation = *task.operation;
  for (Input& input : task.inputs) release_input(input);
  release_input(task.base);
  if (task.task.last) {
    operation.last_panel.erase(task.out_number);
    for (TensorInstance* output : operation.outputs) {
      output_bytes -= task.out_box.volume() * output->element_bytes();
    }
    for (TensorInstance* output : operation.outputs) complete_block(*output, task.out_number);
  }
  if (task.next_panel != nullptr) satisfy(*task.next_panel);
  if (const auto last = operation.last_panel.find(task.out_number); last != operation.last_panel.end() && last->second == &task) {
    operation.last_panel.erase(last);
  }
  --unfinished_tasks;
  operation.tasks.erase(task.self);
  if (operation.over()) finish_operation(operation);
  admit();
  if (sleeping > 0) wake.notify_all();
}

void Engine::State::release_input(Input& input) {
  for (InputPart& part : input.parts) {
    if (part.local == nullptr) continue;
    --part.local->uses;
  }
  for (const InputPart& part : std::exchange(input.parts, {})) {
    if (part.local != nullptr) tensors.free_if_unheld(*input.tensor, part.number);
  }
}

void Engine::State::complete_block(TensorInstance& tensor, Index number) {
  Block& block = tensors.block(tensor, number);
  block.complete = true;
  --tensor.incomplete;
  for (TaskRun* task : std::exchange(block.waiting_tasks, {})) satisfy(*task);
  for (const Request& request : std::exchange(block.waiting_requests, {})) answer(tensor, request);
  tensors.free_if_unheld(tensor, number);
}

}  // namespace tdsl::rt
