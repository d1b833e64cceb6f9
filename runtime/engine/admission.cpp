#include <algorithm>
#include <string>
#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/engine/wire.h"
#include "runtime/plan/cost/last_uses.h"

namespace tdsl::rt {

namespace {

/// Bounds on what is kept of operations under way.
constexpr Index kMaxTasks = 2048;
constexpr std::size_t kMaxToAdmit = 64;
/// An operation of one task weighs 4 KiB with its plan, and the holes that finished ones leave double it.
constexpr std::size_t kMaxUnfinished = 128;

}  // namespace

void Engine::State::submit(std::shared_ptr<const plan::PlannedOp> op, Kernel kernel,
                           const std::vector<plan::TensorId>& last_names, Lend lend) {
  work_until([this] { return to_admit.size() < kMaxToAdmit && unfinished.size() < kMaxUnfinished; });
  const Lock lock(mutex);
  auto operation = std::make_shared<OperationRun>(std::move(op), std::move(kernel), lookup, me);
  operation->number = submitted++;
  operation->lend = std::move(lend);
  const plan::Op& description = operation->op();
  std::vector<plan::TensorId> read;
  for (const plan::Access& access : description.reads) read.push_back(access.tensor);
  if (description.base >= 0) read.push_back(description.base);
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  for (const plan::TensorId id : read) {
    operation->operands.push_back(&tensors.at(id));
    ++operation->operands.back()->readers;
  }
  for (const plan::Access& access : description.reads) {
    const bool pointwise = access.tensor == description.base && operation->space.panels() == 1 &&
                           plan::reads_where_it_writes(description, access);
    operation->pointwise_base.push_back(pointwise);
    operation->base_read_in_place = operation->base_read_in_place && (access.tensor != description.base || pointwise);
  }
  for (const plan::TensorDesc& output : description.outputs) {
    operation->outputs.push_back(&tensors.add(register_lookup(output.id)));
    operation->outputs.back()->site = description.site;
    TDSL_CHECK(options.disk != nullptr || operation->outputs.back()->placed.housing.home == plan::Home::kMemory,
               "there is a disk for what is at home there");
    if (operation->outputs.back()->placed.housing.home == plan::Home::kFile)
      disk.leave_in_file(*operation->outputs.back(), *operation);
    operation->sized_output = operation->sized_output || output.sized();
  }
  // Sized blocks are replaced, not written over.
  operation->base_read_in_place = operation->base_read_in_place && !operation->sized_output;
  profile.add(description);
  answers.expect(*operation);
  unfinished.push_back(operation);
  operation->self = std::prev(unfinished.end());
  to_admit.push_back(operation.get());
  for (const plan::TensorDesc& output : description.outputs) answers.take_early(output.id);
  for (const plan::TensorId id : last_names) tensors.drop_name(id);
  admit();
}

void Engine::State::admit() {
  if (!failure.failed()) sized.grant(open_steps);
  admit_steps();
  move_front();
}

/// The front is the site of the least unfinished step, or of the step that waits for room.
void Engine::State::move_front() {
  int site = open_steps.least_site(Front::kNowhere);
  if (site == Front::kNowhere && !to_admit.empty()) site = to_admit.front()->op().site;
  if (site != profile.front.site()) profile.front.move(now(), site);
}

void Engine::State::admit_steps() {
  while (!to_admit.empty()) {
    OperationRun& operation = *to_admit.front();
    if (!operation.step_listed) operation.step_listed = operation.cursor.next(operation.step);
    if (!operation.step_listed) {
      to_admit.pop_front();
      operation.admitted = true;
      for (TensorInstance* tensor : operation.operands) tensors.drop_reader(*tensor);
      operation.operands.clear();
      if (operation.over()) finish_operation(operation);
      continue;
    }
    if (!fits(operation)) return;
    admit_step(operation);
    operation.step_listed = false;
  }
}

bool Engine::State::fits(const OperationRun& operation) const {
  const plan::Step& step = operation.step;
  const bool least = unfinished_tasks == 0;
  const Index copies = options.threads * std::max(least ? 0 : largest_assembly, step.assembled_bytes);
  if (options.memory_bytes > 0) {
    const Index more = footprint.counted(step.fetch_bytes) + footprint.counted(step.output_bytes) + copies;
    if (!footprint.memory_has(more)) {
      if (!least || peers_hold_memory(operation) || disk.hold_memory()) return false;
      footprint.require_room(operation.op(), more);
    }
  }
  // The least unfinished step is always admitted, else nothing would move; it may wait for relays (Note [Trees]).
  if (least && (options.window_bytes == 0 || relays.holding() == 0)) return true;
  if (unfinished_tasks + static_cast<Index>(step.tasks.size()) > kMaxTasks && !least) return false;
  plan::Estimate loads;
  Index remote = static_cast<Index>(step.fetch.size());
  for (const plan::Fetch& fetch : step.fetch) {
    if (fetch.owner != me) continue;
    loads += fetch.bytes;
    --remote;
  }
  if (!in_flight.slots.certainly_available(remote + sized.ungranted())) return false;
  const Index loaded = loads.expected_bytes();
  return footprint.window_has(step.fetch_bytes.expected_bytes() - loaded, loaded,
                              step.output_bytes.expected_bytes() + copies, operation.op().run_ahead);
}

// Note [Memory]
// The plan sees to it that operations that run one after the other fit --memory. What a rank holds beyond that belongs
// to steps it has admitted ahead, or to peers that are behind and have not fetched yet. So the least unfinished step,
// which nothing of this rank precedes, may wait for memory only while such peers hold some: their steps are older than
// this one and do not wait for it.
bool Engine::State::peers_hold_memory(const OperationRun& next) const {
  if (relays.holding() > 0) return true;
  const auto awaited = [](const TensorInstance& tensor) {
    return std::any_of(tensor.blocks.begin(), tensor.blocks.end(),
                       [](const auto& entry) { return entry.second.requests > 0 || entry.second.sends > 0; });
  };
  return tensors.any_of([&](const TensorInstance& tensor) {
    const bool overwritten = tensor.id() == next.op().base && next.base_read_in_place && tensor.readers == 1;
    return !tensor.named && (tensor.readers == 0 || overwritten) && awaited(tensor);
  });
}

void Engine::State::admit_step(OperationRun& operation) {
  plan::Step& step = operation.step;
  largest_assembly = std::max(unfinished_tasks == 0 ? 0 : largest_assembly, step.assembled_bytes);
  const Index number = open_steps.begin(static_cast<Index>(step.tasks.size()), operation.op().site);
  fetches.fetch(operation, number);
  for (const plan::Task& task : step.tasks) create_task(operation, task, number);
  if (step.ends_super_block) {
    operation.pieces.clear();
    return;
  }
  for (const plan::Fetch& fetch : step.fetch) {
    if (!fetch.keep) operation.pieces.erase(fetch.piece);
  }
}

void Engine::State::create_task(OperationRun& operation, const plan::Task& task, Index step) {
  TaskRun& run = operation.tasks.emplace_back();
  run.self = std::prev(operation.tasks.end());
  run.operation = &operation;
  run.task = task;
  run.out_box = operation.space.out_box(task.tile);
  run.out_number = operation.space.plan().space.linear(task.tile);
  run.step = step;
  run.panel = operation.step.panel;
  run.order = next_order++;
  ++operation.tasks_begun;
  ++unfinished_tasks;
  if (task.first) {
    const plan::Estimate bytes = operation.space.output_bytes(task.tile);
    footprint.promised += footprint.counted(bytes);
    footprint.output += bytes.expected_bytes();
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
      TDSL_CHECK(part.local != nullptr || part.remote->source == me, "the base of a block lies on its owner");
  }
  wait_for_panel(run);
  if (op.ordered) wait_for_effect(run);
  if (run.missing == 0) ready.push(run);
}

Input Engine::State::find_input(TaskRun& task, plan::TensorId id, const Box& box) {
  OperationRun& operation = *task.operation;
  TensorInstance& tensor = tensors.at(id);
  Input input{&tensor, tensor.element_bytes(), tensor.sized(), box, {}};
  const plan::Distribution& distribution = tensor.placed.distribution;
  operation.space.for_each_piece(id, box, [&](const plan::Coord& coord, const plan::Piece& piece) {
    InputPart part{piece.box, piece.block, nullptr, nullptr};
    if (distribution.owns(me, coord) && !tensor.away(coord)) {
      Block& block = tensors.block(tensor, piece.block);
      ++block.uses;
      part.local = &block;
      if (!block.complete) {
        block.waiting_tasks.push_back(&task);
        ++task.missing;
      }
    } else {
      const auto found = operation.pieces.find(piece);
      TDSL_CHECK(found != operation.pieces.end(), "a remote box that a task reads was fetched");
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
void Engine::State::wait_for_panel(TaskRun& task) {
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

/// Effects happen in program order.
void Engine::State::wait_for_effect(TaskRun& task) {
  OperationRun* const operation = task.operation;
  for (auto older = operation->self; older != unfinished.begin();) {
    --older;
    if (!(*older)->op().ordered) continue;
    (*older)->waiting_effects.push_back(&task);
    ++task.missing;
    return;
  }
}

void Engine::State::finish_operation(OperationRun& operation) {
  for (TaskRun* task : operation.waiting_effects) ready.satisfy(*task);
  unfinished.erase(operation.self);
}

}  // namespace tdsl::rt
