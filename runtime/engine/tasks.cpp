#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/engine/call.h"
#include "runtime/engine/long_kernels.h"
#include "runtime/kernels/progress.h"

namespace tdsl::rt {

namespace {

/// Seconds between polls of a rank that has tasks to run: shorter tasks share a poll, and what they complete shares
/// messages.
constexpr double kPollEvery = 10e-6;

}  // namespace

void Engine::State::run_task(Lock& lock, TaskRun& task) {
  Call call;
  prepare(task, call);
  task.running_since = now();
  ++running;
  lock.unlock();
  delays.pause();
  const double start = now();
  std::optional<progress::Scope> talks;
  if (world.size() > 1) talks.emplace([](void* state) { static_cast<State*>(state)->poll_in_kernel(); }, this);
  assemble(task, call);
  for (const Call::Run& run : call.runs) {
    TaskArgs args;
    args.labels = run.labels;
    args.inputs = run.inputs;
    args.outputs = call.outputs;
    args.out_box = task.out_box;
    args.first = task.task.first;
    args.last = task.task.last;
    args.hit = task.task.hit;
    args.fresh = call.fresh && &run == &call.runs.front();
    args.sinks = call.sink_list;
    call_kernel(*task.operation, args);
  }
  if (options.watch != nullptr && task.task.last) show_outputs(task, call);
  const double end = now();
  talks.reset();
  call.assemblies.clear();
  lock.lock();
  --running;
  profile.note_silence(end - std::max(start, last_poll.load()));
  profile.count(task, start, end, !call.runs.empty());
  if (thread_trace != nullptr) tracer.task(task, start, end);
  end_sized(task, call);
  complete(task);
  if ((world.size() == 1 && !asks_disk) || (!ready.empty() && end - last_poll < kPollEvery)) return;
  lock.unlock();
  poll();
  lock.lock();
}

void Engine::State::show_outputs(const TaskRun& task, const Call& call) const {
  const OperationRun& operation = *task.operation;
  for (std::size_t k = 0; k < call.outputs.size(); ++k) {
    const bool sized = operation.op().outputs[k].sized();
    options.watch->complete(operation.number, operation.op(), static_cast<int>(k), call.outputs[k],
                            sized ? call.sinks[k]->made() : BlockPart{});
  }
}

void Engine::State::complete(TaskRun& task) {
  OperationRun& operation = *task.operation;
  for (Input& input : task.inputs) release_input(input);
  release_input(task.base);
  if (task.task.last) {
    operation.last_panel.erase(task.out_number);
    const plan::Estimate bytes = operation.space.output_bytes(task.task.tile);
    footprint.output -= bytes.expected_bytes();
    if (operation.sized_output) footprint.promised -= footprint.counted(bytes);
    for (std::size_t k = 0; k < operation.outputs.size(); ++k) {
      if (!output_box(task, k).empty()) complete_block(*operation.outputs[k], task.out_number);
    }
  }
  if (task.next_panel != nullptr) ready.satisfy(*task.next_panel);
  if (const auto last = operation.last_panel.find(task.out_number);
      last != operation.last_panel.end() && last->second == &task) {
    operation.last_panel.erase(last);
  }
  --unfinished_tasks;
  open_steps.end_task(task.step);
  operation.tasks.erase(task.self);
  if (operation.over()) finish_operation(operation);
  admit();
  ready.wake_all();
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
  for (TaskRun* task : std::exchange(block.waiting_tasks, {})) ready.satisfy(*task);
  for (const Request& request : std::exchange(block.waiting_requests, {})) answers.answer(tensor, request);
  if (tensor.placed.housing.home != plan::Home::kMemory && tensor.away(tensor.placed.distribution.coord(number)))
    disk.write_back(tensor, number);
  tensors.free_if_unheld(tensor, number);
}

}  // namespace tdsl::rt
