#include <algorithm>

#include "runtime/base/number_format.h"
#include "runtime/check.h"
#include "runtime/engine/messages/in_flight.h"
#include "runtime/engine/tasks/operation.h"
#include "runtime/engine/watch/status.h"

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

/// Determines why a task does not run.
void explain(const TaskRun& task, Context& context, const InFlight& in_flight, RankStatus& status) {
  if (task.running_since >= 0) {
    status.waiting = Waiting::kKernel;
    status.seconds = context.now() - task.running_since;
    return;
  }
  if (task.missing == 0) {
    status.waiting = Waiting::kThread;
    return;
  }
  status.waiting = Waiting::kOrder;
  const plan::Op& op = task.operation->op();
  const auto name_of = [&](plan::TensorId id) {  // a tensor with only remote pieces may be freed
    const TensorInstance* tensor = context.tensors.find(id);
    return tensor == nullptr ? std::string("an operand") : tensor->placed.desc.name;
  };
  const auto look_at = [&](const Input& input, plan::TensorId id) {
    for (const InputPart& part : input.parts) {
      if (part.remote != nullptr && !part.remote->arrived) {
        status.waiting = Waiting::kPiece;
        status.tensor = name_of(id);
        const int source = part.remote->source;
        status.source = in_flight.source_of(part.remote).value_or(source == context.me ? -1 : source);
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

}  // namespace

std::string text_of(const RankStatus& status) {
  const std::string what = reason_of(status);
  return status.line == 0 ? what : "line " + std::to_string(line_in(status.line)) + ", `" + status.name + "`: " + what;
}

void describe(const OperationRun& operation, Context& context, const InFlight& in_flight, RankStatus& status) {
  status.line = operation.op().line;
  status.name = operation.op().name;
  const auto tasks = static_cast<double>(operation.tasks.size());
  if (operation.admitted && operation.tasks_begun > 0)
    status.share = 1 - tasks / static_cast<double>(operation.tasks_begun);
  if (operation.tasks.empty()) {
    status.waiting = Waiting::kMemory;
    return;
  }
  explain(*std::ranges::min_element(operation.tasks, {}, &TaskRun::order), context, in_flight, status);
}

}  // namespace tdsl::rt
