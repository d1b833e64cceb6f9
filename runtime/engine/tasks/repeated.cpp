#include "runtime/engine/tasks/repeated.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/engine/engine.h"
#include "runtime/plan/cost/last_uses.h"

namespace tdsl::rt {

namespace {

/// Most tasks of an operation, and of all listed ones: a task takes about a kilobyte.
constexpr Index kMostListed = 256, kMostOfAll = 1 << 14;

void list_parts(Input& input, const OperationRun& operation, plan::TensorId id, const plan::TensorLookup& tensors) {
  input.element_bytes = tensors(id).desc.element.bytes;
  const auto add = [&](const plan::Coord&, const plan::Piece& piece) {
    input.parts.push_back({piece.box, piece.block, nullptr, nullptr});
  };
  operation.space.for_each_piece(id, input.box, std::cref(add));
}

}  // namespace

RepeatedOperation::RepeatedOperation(std::shared_ptr<plan::PlannedOp> its_op, const plan::TensorLookup& lookup,
                                     Index rank, Index& all_listed)
    : planned(std::move(its_op)), run(planned, nullptr, lookup, rank), listed(&all_listed) {
  describe_reads(run);
  run.admitted = true;
  const plan::Op& op = planned->op;
  for (const plan::TensorDesc& output : op.outputs) outputs.push_back(plan::distribution_of(op, planned->plan, output));
  run.outputs.resize(outputs.size());
  reads.resize(op.reads.size() + 1);
}

void RepeatedOperation::rename(const plan::Op& names) {
  plan::Op& op = planned->op;
  for (std::size_t k = 0; k < op.reads.size(); ++k) op.reads[k].tensor = names.reads[k].tensor;
  for (std::size_t k = 0; k < op.outputs.size(); ++k) op.outputs[k].id = names.outputs[k].id;
  op.base = names.base;
  op.record = names.record;
}

double RepeatedOperation::seconds() const {
  if (run.measured != nullptr && run.measured->kernels > 0) {
    const auto tasks = static_cast<double>(run.tasks.size());
    return tasks * run.measured->kernel_seconds / static_cast<double>(run.measured->kernels);
  }
  double seconds = 0;
  for (const TaskRun& task : run.tasks) seconds += task.predicted;
  return seconds;
}

void describe_reads(OperationRun& operation) {
  const plan::Op& op = operation.op();
  const bool one_panel = operation.space.panels() == 1;
  for (const plan::Access& access : op.reads) {
    const bool pointwise = access.tensor == op.base && one_panel && plan::reads_where_it_writes(op, access);
    operation.pointwise_base.push_back(pointwise);
    operation.replaceable.push_back(one_panel && plan::may_write_into(op, access.tensor));
    operation.base_read_in_place = operation.base_read_in_place && (access.tensor != op.base || pointwise);
  }
}

bool locate(TaskRun& run, const plan::Task& task, Index panel) {
  const OperationRun& operation = *run.operation;
  const plan::Op& op = operation.op();
  run.task = task;
  run.out_box = operation.space.out_box(task.tile);
  run.out_number = operation.space.plan().space.linear(task.tile);
  run.panel = panel;
  operation.space.label_intervals(task.tile, task.panel, run.labels);
  if (!task.hit) run.labels.assign(run.labels.size(), Interval{0, 0});
  const Index points = operation.space.points(run.labels);
  const bool computes = task.hit && points > 0;
  run.predicted = computes ? static_cast<double>(points) * operation.seconds_per_point : 0;
  run.inputs.resize(op.reads.size());
  for (std::size_t k = 0; k < op.reads.size(); ++k) {
    Input& input = run.inputs[k];
    input.box = operation.space.access_box(op.reads[k], run.labels);
    if (computes) continue;
    for (int d = 0; d < input.box.rank; ++d) input.box[d] = {0, 0};
    input.tensor = nullptr;
    input.element_bytes = 0;
    input.sized = false;
  }
  return computes;
}

bool list_tasks(RepeatedOperation& operation, const plan::TensorLookup& tensors) {
  OperationRun& run = operation.run;
  const plan::Op& op = run.op();
  for (plan::Step step; run.cursor.next(step);) {
    operation.counted += static_cast<Index>(step.tasks.size());
    *operation.listed += static_cast<Index>(step.tasks.size());
    if (!step.fetch.empty() || operation.counted > kMostListed || *operation.listed > kMostOfAll) return false;
    operation.output_bytes += step.output_bytes;
    operation.assembled_bytes = std::max(operation.assembled_bytes, step.assembled_bytes);
    for (const plan::Task& task : step.tasks) {
      TaskRun& listed = run.tasks.emplace_back();
      listed.operation = &run;
      const bool computes = locate(listed, task, step.panel);
      for (std::size_t k = 0; computes && k < op.reads.size(); ++k)
        list_parts(listed.inputs[k], run, op.reads[k].tensor, tensors);
      if (op.base < 0 || !task.first) continue;
      listed.base.box = listed.out_box;
      list_parts(listed.base, run, op.base, tensors);
    }
  }
  return !run.tasks.empty();
}

}  // namespace tdsl::rt
