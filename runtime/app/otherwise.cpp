#include "runtime/app/otherwise.h"

#include <utility>

namespace tdsl::rt {

namespace {

/// Partial results get numbers that the program's tensors never reach.
constexpr plan::TensorId kFirstPart = plan::TensorId{1} << 48;

plan::PlanInputs without_switch(plan::PlanInputs inputs) {
  inputs.reproducible = false;
  inputs.memory = 0;  // lives are not followed here
  return inputs;
}

}  // namespace

OtherwisePlan::OtherwisePlan(plan::PlanInputs inputs, plan::Index rank)
    : planner_(without_switch(std::move(inputs)), kFirstPart), rank_(rank) {}

void OtherwisePlan::plan(std::vector<plan::Op> segment) {
  const auto planned = planner_.plan(std::move(segment));
  const plan::TensorLookup lookup = planner_.lookup();
  const plan::PlanInputs& inputs = planner_.inputs();
  for (const auto& op : planned) {
    const plan::Cost cost = plan::cost_of(op->op, op->plan, lookup, rank_, inputs.machine, inputs.threads);
    cost_.bytes_received += cost.bytes_received;
    cost_.tasks += cost.tasks;
    cost_.seconds += cost.seconds;
  }
  for (const auto& op : planned) {
    for (const plan::TensorDesc& output : op->op.outputs) {
      if (output.id >= kFirstPart) planner_.erase(output.id);
    }
  }
}

void OtherwisePlan::forget(plan::TensorId id) {
  if (!planner_.forget(id)) planner_.erase(id);
}

}  // namespace tdsl::rt
