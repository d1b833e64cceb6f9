#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/engine/tasks/long_kernels.h"
#include "runtime/kernels/progress.h"

namespace tdsl::rt {

namespace {

/// Seconds between polls of a rank with ready tasks: shorter tasks share a poll, and their answers share messages.
constexpr double kPollEvery = 10e-6;

void show_outputs(BlockWatch& watch, const TaskRun& task, const Call& call) {
  const OperationRun& operation = *task.operation;
  for (std::size_t k = 0; k < call.outputs.size(); ++k) {
    const bool sized = operation.op().outputs[k].sized();
    watch.complete(operation.number, operation.op(), static_cast<int>(k), call.outputs[k],
                   sized ? call.sinks[k]->made() : BlockPart{});
  }
}

}  // namespace

void Engine::State::run_task(Lock& lock, TaskRun& task) {
  Call call;
  calls.prepare(task, call);
  task.running_since = context.now();
  ++workers.running;
  lock.unlock();
  delays.pause();
  const double start = context.now();
  std::optional<progress::Scope> talks;
  if (!context.single()) talks.emplace([](void* state) { static_cast<State*>(state)->poll_in_kernel(); }, this);
  call.assemble();
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
  if (context.options.watch != nullptr && task.task.last) show_outputs(*context.options.watch, task, call);
  const double end = context.now();
  talks.reset();
  call.assemblies.clear();
  lock.lock();
  --workers.running;
  profile.note_silence(end - std::max(start, polls.last.load()));
  profile.count(task, start, end, !call.runs.empty());
  if (thread_trace != nullptr) tracer.task(task, start, end);
  calls.end_sized(task, call);
  complete(task);
  if ((context.single() && !polls.includes_disk) || (!ready.empty() && end - polls.last < kPollEvery)) return;
  lock.unlock();
  poll();
  lock.lock();
}

void Engine::State::check_block(const TaskRun& task, Index bytes) const {
  const Lock lock(context.mutex);
  const bool alone = admission.steps().count() == 1 && admission.steps().least() == task.step;
  if (alone && !sized.any_announced()) footprint.stop_for_block(task.operation->op(), bytes);
}

void Engine::State::complete(TaskRun& task) {
  OperationRun& operation = *task.operation;
  const Index step = task.step;
  tasks.complete(task);
  admission.end_task(step);
  if (operation.over()) operations.finish(operation);
  admit();
  ready.wake_all();
}

void Engine::State::submit(std::shared_ptr<const plan::PlannedOp> op, Kernel kernel,
                           const std::vector<plan::TensorId>& last_names, Lend lend) {
  work_until([this] { return operations.have_room(); });
  const Lock lock(context.mutex);
  OperationRun& operation = operations.enter(std::move(op), std::move(kernel), std::move(lend));
  for (TensorInstance* output : operation.outputs) {
    if (output->placed.housing.home == plan::Home::kFile) disk.leave_in_file(*output, operation);
  }
  profile.add(operation.op());
  answers.expect(operation);
  for (const plan::TensorDesc& output : operation.op().outputs) answers.take_early(output.id);
  for (const plan::TensorId id : last_names) context.tensors.drop_name(id);
  admit();
}

void Engine::State::admit() {
  if (!failure.failed()) sized.grant(admission.steps());
  while (OperationRun* const operation = operations.next()) {
    if (!admission.fits(*operation)) break;
    admit_step(*operation);
  }
  // The front is the site of the least unfinished step, or of the step waiting for admission.
  int site = admission.steps().least_site(Front::kNowhere);
  if (site == Front::kNowhere) site = operations.site_to_admit(Front::kNowhere);
  if (site != profile.front.site()) profile.front.move(context.now(), site);
}

void Engine::State::admit_step(OperationRun& operation) {
  const plan::Step& step = operation.step;
  const Index number = admission.begin(operation);
  fetches.fetch(operation, number);
  for (const plan::Task& task : step.tasks) tasks.create(operation, task, number);
  operation.step_listed = false;
  if (step.ends_super_block) return operation.pieces.clear();
  for (const plan::Fetch& fetch : step.fetch) {
    if (!fetch.keep) operation.pieces.erase(fetch.piece);
  }
}

}  // namespace tdsl::rt
