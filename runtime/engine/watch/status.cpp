#include <algorithm>
#include <string>

#include "runtime/base/number_format.h"
#include "runtime/check.h"
#include "runtime/engine/engine_state.h"

namespace tdsl::rt {

namespace {

std::string whole_seconds(double seconds) { return std::to_string(static_cast<long long>(seconds)) + " s"; }

std::string reason_of(const RankStatus& status) {
  switch (status.waiting) {
    case Waiting::kKernel: return "its kernel has been running for " + whole_seconds(status.seconds);
    case Waiting::kThread: return "waits for a thread";
    case Waiting::kPiece:
      return "waits for a piece of `" + status.tensor + "` from " +
             (status.source < 0 ? "disk" : "rank " + std::to_string(status.source));
    case Waiting::kBlock: return "waits for a block of `" + status.tensor + "` that this rank computes";
    case Waiting::kOrder: return "waits for what comes before it in order";
    case Waiting::kMemory: return "waits for memory; " + format_bytes(status.live_bytes) + " are in use";
    case Waiting::kProgram: return "runs the program between operations";
    case Waiting::kRanks: return "waits for " + status.name;
  }
  return {};
}

}  // namespace

std::string text_of(const RankStatus& status) {
  const std::string what = reason_of(status);
  return status.line == 0 ? what : "line " + std::to_string(line_in(status.line)) + ", `" + status.name + "`: " + what;
}

/// Why a task does not run.
void Engine::State::explain(const TaskRun& task, RankStatus& status) {
  if (task.running_since >= 0) {
    status.waiting = Waiting::kKernel;
    status.seconds = now() - task.running_since;
    return;
  }
  if (task.missing == 0) {
    status.waiting = Waiting::kThread;
    return;
  }
  status.waiting = Waiting::kOrder;
  const plan::Op& op = task.operation->op();
  const auto name_of = [&](plan::TensorId id) {  // of one whose pieces are all elsewhere nothing may be left
    const TensorInstance* tensor = tensors.find(id);
    return tensor == nullptr ? std::string("an operand") : tensor->placed.desc.name;
  };
  const auto look_at = [&](const Input& input, plan::TensorId id) {
    for (const InputPart& part : input.parts) {
      if (part.remote != nullptr && !part.remote->arrived) {
        status.waiting = Waiting::kPiece;
        status.tensor = name_of(id);
        const int source = part.remote->source;
        status.source = in_flight.source_of(part.remote).value_or(source == me ? -1 : source);
        return true;
      }
      if (part.local != nullptr && !part.local->complete) {
        status.waiting = Waiting::kBlock;
        status.tensor = name_of(id);
      }
    }
    return false;
  };
  for (std::size_t k = 0; k < task.inputs.size(); ++k) {
    if (look_at(task.inputs[k], op.reads[k].tensor)) return;
  }
  static_cast<void>(look_at(task.base, op.base));
}

RankStatus Engine::State::status() {
  RankStatus status;
  status.live_bytes = store.live_bytes();
  for (const auto& [number, site] : profile.sites) {
    status.tasks += site.tasks;
    status.flops += site.flops;
  }
  status.finished = operations.complete();
  status.busy =
      running > 0 || !ready.empty() || in_flight.any_send() || !disk.empty() || outbox.filled() || program_works;
  if (operations.oldest() == nullptr) {
    status.waiting = program_works ? Waiting::kProgram : Waiting::kRanks;
    status.name = waits_for;
    return status;
  }
  const OperationRun& operation = *operations.oldest();
  status.line = operation.op().line;
  status.name = operation.op().name;
  const auto tasks = static_cast<double>(operation.tasks.size());
  if (operation.admitted && operation.tasks_begun > 0)
    status.share = 1 - tasks / static_cast<double>(operation.tasks_begun);
  if (operation.tasks.empty()) {
    status.waiting = Waiting::kMemory;
    return status;
  }
  const auto least = std::ranges::min_element(operation.tasks, {}, &TaskRun::order);
  explain(*least, status);
  return status;
}

RankStatus Engine::status() const {
  RankStatus status;
  {
    const Lock lock(state_->mutex);
    status = state_->status();
  }
  status.received = state_->world.total_traffic().bytes_received;
  return status;
}

}  // namespace tdsl::rt
