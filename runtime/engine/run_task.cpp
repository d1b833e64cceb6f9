#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/engine/tasks/tape.h"
#include "runtime/kernels/copy.h"
#include "runtime/kernels/progress.h"

namespace tdsl::rt {

// Note [Long kernels]
// BLIS polls by itself (kernels/blis_call.cpp). An emitted kernel of many points is called in pieces along its first
// output dimension, as if the tile were smaller, with a poll after each. Pieces depend only on the task's shape. If the
// dimension is the innermost one, they are multiples of every vector length, so that no element moves from vector to
// scalar code. Register-blocked reductions poll between their own blocks and pack operands again in every call: they
// get long pieces.
namespace {

/// The dimension to divide, or -1: the kernel must see the whole tile.
int cut_dimension(const plan::Op& op) {
  if ((op.op_class != plan::OpClass::kMap && op.op_class != plan::OpClass::kReduce) || op.ordered) return -1;
  // Kernels of routines rely on the tiles they request.
  if (!op.tile.empty() || std::find(op.uncut.begin(), op.uncut.end(), true) != op.uncut.end()) return -1;
  for (int d = 0; d < op.out_rank(); ++d) {
    const plan::OutSubscript& s = op.out[static_cast<std::size_t>(d)];
    if (s.label == plan::kPartLabel) continue;
    const auto same = std::ranges::count_if(op.out, [&s](const plan::OutSubscript& o) { return o.label == s.label; });
    return s.label >= 0 && s.coefficient == 1 && same == 1 ? d : -1;
  }
  return -1;
}

bool mentions(const plan::Access& access, int label) {
  return std::ranges::any_of(access.dims, [label](const plan::DimAccess& dim) {
    return std::ranges::any_of(dim.terms, [label](const plan::Affine::Term& term) { return term.label == label; });
  });
}

/// True for reductions with a row label that no operand shares with the column label: the kernel may be
/// register-blocked.
bool may_be_blocked(const plan::Op& op) {
  const int column = op.out.back().label;
  return op.op_class == plan::OpClass::kReduce && std::ranges::any_of(op.out, [&](const plan::OutSubscript& row) {
           return row.label >= 0 && row.label != column &&
                  std::ranges::none_of(op.reads, [&](const plan::Access& read) {
                    return mentions(read, row.label) && mentions(read, column);
                  });
         });
}

Index rows_at_once(const plan::Op& op, int dim, Index rows, Index points) {
  constexpr Index kVectors = 64;
  constexpr Index kBlocks = 16 * kVectors;
  if (may_be_blocked(op)) return kBlocks;
  const Index wanted = std::max<Index>(1, kPointsAtOnce / std::max<Index>(points / rows, 1));
  // Sums along other dimensions traverse strips of the operand: narrow strips use the cache badly.
  constexpr Index kStrip = 32 * kVectors;
  if (dim + 1 == op.out_rank()) return std::max(kStrip, wanted / kVectors * kVectors);
  return wanted >= kVectors ? wanted / kVectors * kVectors : wanted;
}

/// Runs the operation's kernel on a task's tile; a long kernel runs in pieces, so that the rank can answer its peers
/// in between.
void call_kernel(const OperationRun& operation, const TaskArgs& args) {
  const plan::Op& op = operation.op();
  const Index points = operation.space.points(args.labels);
  const int dim = points <= kPointsAtOnce || operation.sized_output ? -1 : cut_dimension(op);
  if (dim < 0) {
    operation.kernel(args);
    return;
  }
  const std::vector<Interval> whole(args.labels.begin(), args.labels.end());
  const auto label = static_cast<std::size_t>(op.out[static_cast<std::size_t>(dim)].label);
  const Index constant = op.out[static_cast<std::size_t>(dim)].constant;
  const Index step = rows_at_once(op, dim, whole[label].size(), points);
  std::vector<Interval> labels = whole;
  std::vector<Operand> outputs(args.outputs.begin(), args.outputs.end());
  for (Index from = whole[label].lo; from < whole[label].hi; from += step) {
    const Interval rows{from, std::min(from + step, whole[label].hi)};
    labels[label] = rows;
    // Parts at the ends of the tile outside the labels belong to the first and the last piece.
    Box box = args.out_box;
    box[dim] = {rows.lo == whole[label].lo ? box[dim].lo : rows.lo + constant,
                rows.hi == whole[label].hi ? box[dim].hi : rows.hi + constant};
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      outputs[k] = part_of(args.outputs[k], box, op.outputs[k].element.bytes);
    }
    TaskArgs piece = args;
    piece.labels = labels;
    piece.outputs = outputs;
    piece.out_box = box;
    operation.kernel(piece);
    progress::pause();
  }
}

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

/// Runs a task's work without the lock, which is held again at the end.
template <class Work>
void Engine::State::run_unlocked(Lock& lock, const Work& work) {
  ++workers.running;
  lock.unlock();
  try {
    delays.pause();
    work();
  } catch (...) {
    lock.lock();
    --workers.running;
    throw;
  }
  lock.lock();
  --workers.running;
}

void Engine::State::run_inspection(Lock& lock, TaskRun& task) {
  std::vector<BlockPart> blocks;
  for (const Input& input : task.inputs) {
    for (const InputPart& part : input.parts) {
      const BufferRef& buffer = part.local->buffer;
      blocks.push_back({part.box, buffer != nullptr ? buffer->data() : nullptr, bytes_of(buffer)});
    }
  }
  const std::shared_ptr<Meetings> meetings = task.inspects;
  OperationRun& operation = *task.operation;
  const Index step = task.step;
  task.running_since = context.now();
  run_unlocked(lock, [&] { Lists::inspect(*meetings, blocks); });
  tasks.end_inspection(task);
  lists.end_inspection(*meetings);
  end_task(operation, step);
}

/// Calls the task's kernel, with its results observed. Without the lock.
void Engine::State::run_kernels(const TaskRun& task, Call& call) {
  std::optional<progress::Scope> talks;
  if (!context.single()) talks.emplace([](void* state) { static_cast<State*>(state)->poll_in_kernel(); }, this);
  std::optional<shared_loop::Scope> shares;
  if (context.options.threads > 1)
    shares.emplace([](void* state, plan::Index count,
                      const shared_loop::Body& body) { static_cast<State*>(state)->run_shared(count, body); },
                   this);
  call.assemble();
  for (const Call::Run& run : call.runs) {
    TaskArgs args = arguments_of(task, run, call.outputs, call.fresh && &run == &call.runs.front());
    args.sinks = call.sink_list;
    call_kernel(*task.operation, args);
  }
  if (context.options.watch != nullptr && task.task.last) show_outputs(*context.options.watch, task, call);
}

void Engine::State::run_shared(plan::Index count, const shared_loop::Body& body) {
  SharedLoop loop;
  loop.count = count;
  loop.body = &body;
  std::exception_ptr error;
  try {
    {
      const Lock lock(context.mutex);
      ready.share(loop);  // may throw: the first work starts the workers
    }
    loop.run();
  } catch (...) { error = std::current_exception(); }
  {
    Lock lock(context.mutex);
    ready.end(lock, loop);
    if (error == nullptr) error = loop.error;
  }
  if (error != nullptr) std::rethrow_exception(error);
}

void Engine::State::help(Lock& lock) {
  SharedLoop* const loop = ready.join();
  if (loop == nullptr) return;
  workers.was_idle = false;
  std::exception_ptr error;
  run_unlocked(lock, [&] {
    try {
      loop->run();
    } catch (...) { error = std::current_exception(); }
  });
  if (error != nullptr) loop->error = error;
  ReadyQueue::leave(*loop);
}

/// Runs the task's kernel on its operands and counts it; returns the time of its end.
double Engine::State::execute(Lock& lock, TaskRun& task) {
  std::unique_ptr<Call> memory;
  if (spare_calls.empty()) {
    memory = std::make_unique<Call>();
  } else {
    memory = std::move(spare_calls.back());
    spare_calls.pop_back();
  }
  Call& call = *memory;
  calls.prepare(task, call);
  if (context.options.tape != nullptr) context.options.tape->add(task, call);
  task.running_since = context.now();
  double start = 0, end = 0;
  run_unlocked(lock, [&] {
    start = context.now();
    run_kernels(task, call);
    end = context.now();
    call.assemblies.clear();
  });
  profile.note_silence(end - std::max(start, polls.last.load()));
  profile.count(task, start, end, !call.runs.empty());
  if (thread_trace != nullptr) tracer.task(task, start, end);
  calls.end_sized(task, call);
  call.clear();
  spare_calls.push_back(std::move(memory));  // one per thread at most
  return end;
}

void Engine::State::run_task(Lock& lock, TaskRun& task) {
  if (task.inspects != nullptr) return run_inspection(lock, task);
  const double end = execute(lock, task);
  complete(task);
  if (!must_poll() || (!ready.empty() && end - polls.last < kPollEvery)) return;
  lock.unlock();
  poll();
  lock.lock();
  ready.offer(true);
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
  end_task(operation, step);
}

void Engine::State::end_task(OperationRun& operation, Index step) {
  admission.end_task(step);
  if (operation.over()) operations.finish(operation);
  admit();
  ready.tell_program();
  ready.offer(true);
}

void Engine::State::repeat(std::span<Repeat> segment) {
  work_until([this] { return operations.oldest() == nullptr; });
  try {
    Lock lock(context.mutex);
    if (context.options.stop) ask_to_stop(lock);
    for (Repeat& next : segment) {
      if (failure.failed()) break;
      repeats.run(next, [&](TaskRun& task) { execute(lock, task); });
    }
    profile.front.move(context.now(), Front::kNowhere);
  } catch (...) {
    // A failure of a task, as in work_until().
    failure.fail(std::current_exception());
  }
  if (failure.failed()) throw RunStopped{};
}

void Engine::State::submit(std::shared_ptr<const plan::PlannedOp> op, Kernel kernel,
                           const std::vector<plan::TensorId>& last_names, Lend lend) {
  work_until([this] { return operations.have_room(); });
  const Lock lock(context.mutex);
  OperationRun& operation = operations.enter(std::move(op), std::move(kernel), std::move(lend));
  for (TensorInstance* output : operation.outputs) {
    if (output->placed.housing.home == plan::Home::kFile) disk.leave_in_file(*output, operation);
  }
  operation.measured = &profile.add(operation.op());
  answers.expect(operation);
  for (const plan::TensorDesc& output : operation.op().outputs) answers.take_early(output.id);
  for (const plan::TensorId id : last_names) context.tensors.drop_name(id);
  admit();
  ready.offer(false);
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
  for (const auto& [meetings, walked] : lists.take_new()) {
    tasks.inspect(operation, meetings, walked, number);
    admission.add_task(number);
  }
  for (const plan::Task& task : step.tasks) tasks.create(operation, task, number);
  operation.step_listed = false;
  if (step.ends_super_block) return operation.pieces.clear();
  for (const plan::Fetch& fetch : step.fetch) {
    if (!fetch.keep) operation.pieces.erase(fetch.piece);
  }
}

}  // namespace tdsl::rt
