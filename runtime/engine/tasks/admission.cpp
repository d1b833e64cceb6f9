#include "runtime/engine/tasks/admission.h"

#include <algorithm>

namespace tdsl::rt {

namespace {

/// Maximum number of tasks of open steps.
constexpr Index kMaxTasks = 2048;

}  // namespace

bool Admission::fits(const OperationRun& operation) const {
  const plan::Step& step = operation.step;
  const bool least = steps_.tasks() == 0;
  const Index copies = context_.options.threads * std::max(least ? 0 : largest_assembly_, step.assembled_bytes);
  if (context_.options.memory_bytes > 0) {
    const Index more = footprint_.counted(step.fetch_bytes) + footprint_.counted(step.output_bytes) + copies;
    if (!footprint_.memory_has(more)) {
      if (!least || peers_hold_memory(operation) || disk_.hold_memory()) return false;
      footprint_.require_room(operation.op(), more);
    }
  }
  // The least unfinished step is always admitted: otherwise the rank would block. It may wait for relays (Note
  // [Trees]).
  if (least && (context_.options.window_bytes == 0 || relays_.holding() == 0)) return true;
  if (steps_.tasks() + static_cast<Index>(step.tasks.size()) > kMaxTasks && !least) return false;
  plan::Estimate loads;
  Index remote = static_cast<Index>(step.fetch.size());
  for (const plan::Fetch& fetch : step.fetch) {
    if (fetch.owner != context_.me) continue;
    loads += fetch.bytes;
    --remote;
  }
  if (!in_flight_.slots.certainly_available(remote + sized_.ungranted() + lists_.waiting())) return false;
  const Index loaded = loads.expected_bytes();
  return footprint_.window_has(step.fetch_bytes.expected_bytes() - loaded, loaded,
                               step.output_bytes.expected_bytes() + copies, operation.op().run_ahead);
}

// Note [Memory]
// The plan ensures that operations executed one after the other fit --memory. Any memory beyond that belongs to steps
// admitted ahead, or is held for peers that are behind and have yet to fetch. So the least unfinished step may wait for
// memory only while such peers hold some: their steps are older and do not wait for it.
bool Admission::peers_hold_memory(const OperationRun& next) const {
  if (relays_.holding() > 0) return true;
  const auto awaited = [](const TensorInstance& tensor) {
    return std::ranges::any_of(tensor.blocks,
                               [](const auto& entry) { return entry.second.requests > 0 || entry.second.sends > 0; });
  };
  return context_.tensors.any_of([&](const TensorInstance& tensor) {
    const bool overwritten = tensor.id() == next.op().base && next.base_read_in_place && tensor.readers == 1;
    return !tensor.named && (tensor.readers == 0 || overwritten) && awaited(tensor);
  });
}

Index Admission::begin(const OperationRun& operation) {
  const plan::Step& step = operation.step;
  largest_assembly_ = std::max(steps_.tasks() == 0 ? 0 : largest_assembly_, step.assembled_bytes);
  return steps_.begin(static_cast<Index>(step.tasks.size()), operation.op().site);
}

}  // namespace tdsl::rt
