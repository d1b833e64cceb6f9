#include "runtime/record/planning_sink.h"

#include <chrono>

namespace tdsl::record {

void PlanningSink::segment(plan::Segment segment) {
  const auto begin = std::chrono::steady_clock::now();
  const plan::PlannedSegment plans = planner_.plan(std::move(segment));
  planning_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  planned(plans);
  for (const std::vector<plan::TensorId>& list : plans.last_names) {
    for (const plan::TensorId id : list) planner_.erase(id);
  }
  for (const plan::TensorId id : plans.ended) planner_.erase(id);
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
