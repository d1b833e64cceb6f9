#include "runtime/record/planning_sink.h"

#include <chrono>
#include <utility>

namespace tdsl::record {

void PlanningSink::share(std::shared_ptr<SharedPlans> plans) {
  shared_ = std::move(plans);
  planner_.share(shared_->decisions);
  earlier_ = shared_->run;
  if (earlier_ == nullptr) kept_ = std::make_unique<PlannedRun>();
}

void PlanningSink::keep_run() {
  if (kept_ != nullptr) shared_->run = std::move(kept_);
}

void PlanningSink::segment(plan::Segment segment) {
  if (earlier_ != nullptr) {
    const bool repeats = repeated_ < earlier_->parts.size() && earlier_->parts[repeated_].recorded.ops == segment.ops &&
                         earlier_->parts[repeated_].recorded.dropped == segment.dropped && segment.settled.empty();
    if (repeats) return planned(*earlier_->parts[repeated_++].planned);
    leave_earlier();
  }
  plan(std::move(segment));
}

void PlanningSink::plan(plan::Segment segment) {
  if (kept_ != nullptr &&
      (!segment.settled.empty() || kept_->operations + segment.ops.size() > PlannedRun::kMostOperations))
    kept_ = nullptr;
  plan::Segment recorded;
  if (kept_ != nullptr) recorded = segment;
  const auto plans = std::make_shared<const plan::PlannedSegment>(made(std::move(segment)));
  if (kept_ != nullptr) note(std::move(recorded), plans);
  planned(*plans);
  erase(*plans);
}

plan::PlannedSegment PlanningSink::made(plan::Segment segment) {
  const auto begin = std::chrono::steady_clock::now();
  plan::PlannedSegment plans = planner_.plan(std::move(segment));
  planning_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return plans;
}

void PlanningSink::erase(const plan::PlannedSegment& plans) {
  for (const std::vector<plan::TensorId>& list : plans.last_names) {
    for (const plan::TensorId id : list) planner_.erase(id);
  }
  for (const plan::TensorId id : plans.ended) planner_.erase(id);
}

void PlanningSink::note(plan::Segment recorded, const std::shared_ptr<const plan::PlannedSegment>& plans) {
  kept_->operations += recorded.ops.size();
  for (const auto& op : plans->ops) {
    for (const plan::TensorDesc& output : op->op.outputs)
      kept_->tensors.insert_or_assign(output.id, planner_.tensor(output.id));
  }
  kept_->parts.push_back({std::move(recorded), plans});
}

/// Brings the planner to where this run is.
void PlanningSink::leave_earlier() {
  const std::shared_ptr<const PlannedRun> earlier = std::exchange(earlier_, nullptr);
  for (std::size_t k = 0; k < repeated_; ++k) erase(made(earlier->parts[k].recorded));
}

namespace {

plan::PlanInputs without_switch(plan::PlanInputs inputs) {
  inputs.reproducible = false;
  inputs.memory = 0;
  return inputs;
}

}  // namespace

BaselineSink::BaselineSink(plan::PlanInputs inputs, Visitor visit)
    : PlanningSink(without_switch(std::move(inputs))), visit_(std::move(visit)) {}

void BaselineSink::planned(const plan::PlannedSegment& segment) {
  const plan::TensorLookup lookup = planner().lookup();
  for (const auto& op : segment.ops) visit_(*op, lookup, planner().inputs());
}

}  // namespace tdsl::record
