#include "runtime/app/session/repeats.h"

#include <algorithm>
#include <utility>

namespace tdsl::rt {

namespace {

/// Operations without effects outside their results.
bool only_computes(const plan::PlannedOp& planned) {
  const plan::Op& op = planned.op;
  switch (op.op_class) {
    case plan::OpClass::kMap:
    case plan::OpClass::kReduce:
    case plan::OpClass::kContraction:
    case plan::OpClass::kSource:
    case plan::OpClass::kControl:
    case plan::OpClass::kLoop: break;
    default: return false;
  }
  const bool plain = std::ranges::all_of(op.outputs, [](const plan::TensorDesc& output) {
    return !output.sized() && output.elements() > 0 && !plan::is_part(output.id);
  });
  return plain && !op.outputs.empty() && !op.ordered && planned.part == 0 &&
         planned.plan.housing.home == plan::Home::kMemory;
}

/// True if the planner has kept the operation as recorded: its names of tensors are those of the form.
bool is_as_recorded(const plan::Op& planned, const plan::Op& recorded) {
  plan::Op op = recorded;
  op.combine = planned.combine;  // whether it could be split
  return op == planned;
}

/// Slots of the tensors; empty optional: one is not in the form.
std::optional<std::vector<int>> slots_of(const record::SegmentForm& form, const std::vector<plan::TensorId>& tensors) {
  std::vector<int> slots;
  for (const plan::TensorId id : tensors) {
    slots.push_back(form.slot_of(id));
    if (slots.back() < 0) return std::nullopt;
  }
  return slots;
}

bool is_plain(const plan::PlacedTensor& tensor) {
  return !tensor.desc.sized() && tensor.housing.home == plan::Home::kMemory;
}

}  // namespace

bool RepeatedSegments::Place::miss() {
  if (kept != nullptr) {
    ++misses;
    kept = nullptr;
  }
  return std::exchange(seen, true) && !given_up();
}

void RepeatedSegments::Place::keep(std::unique_ptr<RepeatedSegment> segment) {
  kept = std::move(segment);
  if (kept == nullptr) ++misses;
}

RepeatedSegments::Place& RepeatedSegments::place_of(const plan::Segment& segment) {
  std::uint64_t key = segment.ops.size() * 31 + segment.dropped.size();
  for (const plan::Op& op : segment.ops) key = key * 1099511628211ULL + static_cast<std::uint64_t>(op.site);
  const auto found = places_.find(key);
  if (found != places_.end()) return found->second;
  if (places_.size() >= kMostPlaces) places_.clear();
  return places_[key];
}

std::unique_ptr<RepeatedSegment> listed_segment(record::SegmentForm form, const plan::PlannedSegment& planned,
                                                const plan::Planner& planner, Engine& engine) {
  auto segment = std::make_unique<RepeatedSegment>(std::move(form));
  const plan::Segment& recorded = segment->form.segment();
  if (!planned.unused.empty() || planned.ops.size() != recorded.ops.size()) return nullptr;
  for (const int slot : segment->form.outside()) {
    const plan::TensorId id = segment->form.tensor(slot);
    if (!planner.planned(id) || !is_plain(planner.tensor(id))) return nullptr;
    segment->outside.push_back(planner.tensor(id));
  }
  const plan::PlanInputs& inputs = planner.inputs();
  for (std::size_t k = 0; k < planned.ops.size(); ++k) {
    const plan::PlannedOp& op = *planned.ops[k];
    const auto number = static_cast<std::size_t>(op.op.record - recorded.ops.front().record);
    if (!only_computes(op) || number >= recorded.ops.size() || !is_as_recorded(op.op, recorded.ops[number]))
      return nullptr;
    std::optional<std::vector<int>> last_names = slots_of(segment->form, planned.last_names[k]);
    auto copy = std::make_shared<plan::PlannedOp>(op);
    std::shared_ptr<RepeatedOperation> listed = engine.list(copy);
    if (!last_names || listed == nullptr) return nullptr;
    RepeatedSegment::Operation& made = segment->operations.emplace_back();
    made.planned = std::move(copy);
    made.listed = std::move(listed);
    made.recorded = number;
    made.last_names = std::move(*last_names);
    for (const plan::TensorDesc& output : op.op.outputs) {
      const bool stays = std::ranges::find(recorded.dropped, output.id) == recorded.dropped.end();
      made.stays.push_back(stays ? planner.tensor(output.id) : plan::PlacedTensor{});
    }
    made.cost = plan::cost_of(op.op, op.plan, planner.lookup(), 0, inputs.machine, inputs.threads);
  }
  std::optional<std::vector<int>> ended = slots_of(segment->form, planned.ended);
  if (!ended) return nullptr;
  segment->ended = std::move(*ended);
  return segment;
}

bool lie_alike(const RepeatedSegment& segment, const std::vector<plan::TensorId>& tensors,
               const plan::Planner& planner) {
  const std::vector<int>& outside = segment.form.outside();
  for (std::size_t k = 0; k < outside.size(); ++k) {
    const plan::TensorId id = tensors[static_cast<std::size_t>(outside[k])];
    if (!planner.planned(id)) return false;
    const plan::PlacedTensor &now = planner.tensor(id), &then = segment.outside[k];
    if (!is_plain(now) || !(now.desc.element == then.desc.element) || now.desc.shape != then.desc.shape ||
        !(now.distribution == then.distribution))
      return false;
  }
  return true;
}

}  // namespace tdsl::rt
