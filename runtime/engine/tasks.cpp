#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/engine/call.h"
#include "runtime/kernels/copy.h"
#include "runtime/kernels/progress.h"

namespace tdsl::rt {

namespace {

/// Seconds between polls of a rank that has tasks to run: shorter tasks share a poll, and what they complete shares messages.
constexpr double kPollEvery = 10e-6;
/// Inside kernels polls are so far apart.
constexpr double kPollInKernel = 1e-3;

// Note [Long kernels]
// BLIS ticks by itself (kernels/blis_call.cpp). An emitted kernel of many points is called piece by piece along its first output
// dimension, as if the tile were smaller, with a pause after each. Pieces depend on the task's shape alone. Where the
// dimension is the innermost one they are multiples of every vector, so that no element changes from vector to scalar code.
// Register-blocked reductions pause between their own blocks and lay out operands anew in every call: they get long pieces.
constexpr Index kPointsAtOnce = Index{1} << 20;

/// The dimension, or -1: the kernel must see its tile at once.
int cut_dimension(const plan::Op& op) {
  if ((op.op_class != plan::OpClass::kMap && op.op_class != plan::OpClass::kReduce) || op.ordered) return -1;
  // Kernels of routines rely on the tiles they asked for.
  if (!op.tile.empty() || std::find(op.uncut.begin(), op.uncut.end(), true) != op.uncut.end()) return -1;
  for (int d = 0; d < op.out_rank(); ++d) {
    const plan::OutSubscript& s = op.out[static_cast<std::size_t>(d)];
    if (s.label == plan::kPartLabel) continue;
    const auto same = std::count_if(op.out.begin(), op.out.end(), [&s](const plan::OutSubscript& o) { return o.label == s.label; });
    return s.label >= 0 && s.coefficient == 1 && same == 1 ? d : -1;
  }
  return -1;
}

bool mentions(const plan::Access& access, int label) {
  return std::any_of(access.dims.begin(), access.dims.end(), [label](const plan::DimAccess& dim) {
    return std::any_of(dim.terms.begin(), dim.terms.end(), [label](const plan::Affine::Term& term) { return term.label == label; });
  });
}

/// A reduction of what belongs to rows with what belongs to columns: its kernel may be register-blocked.
bool may_be_blocked(const plan::Op& op) {
  const int column = op.out.back().label;
  return op.op_class == plan::OpClass::kReduce && std::any_of(op.out.begin(), op.out.end(), [&](const plan::OutSubscript& row) {
           return row.label >= 0 && row.label != column && std::none_of(op.reads.begin(), op.reads.end(), [&](const plan::Access& read) {
                    return mentions(read, row.label) && mentions(read, column);
                  });
         });
}

Index rows_at_once(const plan::Op& op, int dim, Index rows, Index points) {
  constexpr Index kVectors = 64;
  constexpr Index kBlocks = 16 * kVectors;
  if (may_be_blocked(op)) return kBlocks;
  const Index wanted = std::max<Index>(1, kPointsAtOnce / std::max<Index>(points / rows, 1));
  // Sums along other dimensions walk down strips of the operand: narrow ones cost them the cache.
  constexpr Index kStrip = 32 * kVectors;
  if (dim + 1 == op.out_rank()) return std::max(kStrip, wanted / kVectors * kVectors);
  return wanted >= kVectors ? wanted / kVectors * kVectors : wanted;
}

void call_kernel(const OperationRun& operation, const TaskArgs& args) {
  const plan::Op& op = operation.op();
  const int dim = cut_dimension(op);
  const std::vector<Interval> whole(args.labels.begin(), args.labels.end());
  const Index points = operation.space.points(whole);
  if (dim < 0 || points <= kPointsAtOnce) {
    operation.kernel(args);
    return;
  }
  const auto label = static_cast<std::size_t>(op.out[static_cast<std::size_t>(dim)].label);
  const Index constant = op.out[static_cast<std::size_t>(dim)].constant;
  const Index step = rows_at_once(op, dim, whole[label].size(), points);
  std::vector<Interval> labels = whole;
  std::vector<Operand> outputs(args.outputs.begin(), args.outputs.end());
  for (Index from = whole[label].lo; from < whole[label].hi; from += step) {
    const Interval rows{from, std::min(from + step, whole[label].hi)};
    labels[label] = rows;
    // What the labels leave out of the tile at its ends belongs to the first and the last piece.
    Box box = args.out_box;
    box[dim] = {rows.lo == whole[label].lo ? box[dim].lo : rows.lo + constant, rows.hi == whole[label].hi ? box[dim].hi : rows.hi + constant};
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
    call_kernel(*task.operation, args);
  }
  const double end = now();
  talks.reset();
  call.assemblies.clear();
  lock.lock();
  silence.longest = std::max(silence.longest, end - std::max(start, last_poll.load()));
  count(task, start, end, !call.runs.empty());
  complete(task);
  if (world.size() == 1 || (!ready.empty() && end - last_poll < kPollEvery)) return;
  lock.unlock();
  poll();
  lock.lock();
}

/// Called by a kernel, without the lock.
void Engine::State::poll_in_kernel() noexcept {
  const double before = last_poll;
  const double time = now();
  if (time - before < kPollInKernel) return;
  try {
    poll();
    const Lock lock(mutex);
    ++silence.polls;
    silence.longest = std::max(silence.longest, time - before);
  } catch (...) {
    fail(std::current_exception());
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
    output_bytes -= operation.space.output_bytes(task.task.tile);
    for (std::size_t k = 0; k < operation.outputs.size(); ++k) {
      if (!output_box(task, k).empty()) complete_block(*operation.outputs[k], task.out_number);
    }
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
