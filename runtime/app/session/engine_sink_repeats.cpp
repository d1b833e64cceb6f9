#include <memory>
#include <utility>
#include <vector>

#include "runtime/app/session/engine_sink.h"
#include "runtime/app/session/repeats.h"

// Segments that repeat (Note [Repeats]): neither planned nor submitted.

namespace tdsl::rt {

namespace {

std::vector<plan::TensorId> at_slots(const std::vector<int>& slots, const std::vector<plan::TensorId>& tensors) {
  std::vector<plan::TensorId> found;
  found.reserve(slots.size());
  for (const int slot : slots) found.push_back(tensors[static_cast<std::size_t>(slot)]);
  return found;
}

}  // namespace

/// True if segments of this run may repeat.
bool EngineSink::may_repeat() const {
  return !setup_.options.no_replay && setup_.world.size() == 1 && !dry_run() && !baseline_ && plans_segments() &&
         planner().plans_alike();
}

/// Runs a segment that repeats an earlier one, and returns true. Else decides whether to keep it once it is planned.
bool EngineSink::repeat(plan::Segment& segment) {
  keeps_ = nullptr;
  if (segment.ops.empty() || !segment.settled.empty() || !may_repeat()) return false;
  RepeatedSegments::Place& place = repeats_.place_of(segment);
  if (place.given_up()) return false;
  std::vector<plan::TensorId> tensors;
  const RepeatedSegment* const kept = place.kept.get();
  if (kept == nullptr || !kept->form.matches(segment, tensors) || !lie_alike(*kept, tensors, planner())) {
    if (!place.miss()) return false;
    keeps_ = &place;
    form_to_keep_.emplace(segment);
    return false;
  }
  place.misses = 0;
  std::vector<Engine::Repeat> todo;
  todo.reserve(kept->operations.size());
  for (const RepeatedSegment::Operation& op : kept->operations)
    todo.push_back({op.listed.get(), &segment.ops[op.recorded], nullptr, at_slots(op.last_names, tensors)});
  if (!engine_.is_small(todo)) return false;
  for (std::size_t k = 0; k < todo.size(); ++k) {
    const std::shared_ptr<plan::PlannedOp>& planned = kept->operations[k].planned;
    todo[k].kernel =
        bound_kernel(std::shared_ptr<const plan::Op>(planned, &planned->op), take_kernel(todo[k].names->record));
  }
  run(*kept, segment, tensors, todo);
  return true;
}

void EngineSink::run(const RepeatedSegment& kept, const plan::Segment& segment,
                     const std::vector<plan::TensorId>& tensors, std::vector<Engine::Repeat>& todo) {
  for (const plan::TensorId id : at_slots(kept.ended, tensors)) {
    predictions_.free(id);
    engine_.release(id);
  }
  for (const RepeatedSegment::Operation& op : kept.operations) {
    if (progress_ != nullptr) progress_->submitted(op.cost.seconds.hi);
  }
  engine_.repeat(todo);
  plan::Planner& planner = its_planner();
  for (std::size_t k = 0; k < todo.size(); ++k) {
    const RepeatedSegment::Operation& op = kept.operations[k];
    predictions_.add_again(*op.planned, op.cost, todo[k].last_names);
    planner.repeat(*op.planned);
    for (std::size_t output = 0; output < op.stays.size(); ++output) {
      if (op.stays[output].desc.id < 0) continue;
      plan::PlacedTensor made = op.stays[output];
      made.desc.id = op.planned->op.outputs[output].id;
      planner.place(std::move(made), op.planned->op.site);
    }
  }
  for (const plan::TensorId id : segment.dropped) planner.erase(id);
  ++repeats_.repeated;
  repeats_.operations += static_cast<std::int64_t>(todo.size());
}

/// Lists the segment just planned, if it may repeat.
void EngineSink::keep_planned(const plan::PlannedSegment& segment) {
  if (keeps_ == nullptr) return;
  RepeatedSegments::Place& place = *std::exchange(keeps_, nullptr);
  place.keep(listed_segment(std::move(*form_to_keep_), segment, planner(), engine_));
  form_to_keep_.reset();
  if (place.kept != nullptr) ++repeats_.kept;
}

}  // namespace tdsl::rt
