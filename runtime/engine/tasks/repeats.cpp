#include "runtime/engine/tasks/repeats.h"

#include <cstddef>
#include <utility>

namespace tdsl::rt {

std::shared_ptr<RepeatedOperation> Repeats::list(std::shared_ptr<plan::PlannedOp> op) {
  if (!context_.single() || context_.options.disk != nullptr) return nullptr;
  std::shared_ptr<RepeatedOperation> listed = operations_.list(std::move(op));
  if (listed != nullptr) listed->run.measured = &profile_.add(listed->run.op());
  return listed;
}

bool Repeats::is_small(std::span<const Engine::Repeat> segment) const {
  if (context_.options.threads == 1) return true;
  double seconds = 0;
  for (const Engine::Repeat& repeat : segment) seconds += repeat.operation->seconds();
  return seconds <= context_.options.grain * context_.options.threads;
}

void Repeats::run(Engine::Repeat& repeat, const std::function<void(TaskRun&)>& execute) {
  RepeatedOperation& operation = *repeat.operation;
  OperationRun& run = operation.run;
  operation.rename(*repeat.names);
  const plan::Op& op = run.op();
  run.kernel = std::move(repeat.kernel);
  run.number = operations_.number_repeated();
  profile_.front.move(context_.now(), op.site);
  const Index more = footprint_.counted(operation.output_bytes) + operation.assembled_bytes;
  if (context_.options.memory_bytes > 0 && !footprint_.memory_has(more)) footprint_.require_room(op, more);
  for (std::size_t k = 0; k < op.reads.size(); ++k) operation.reads[k] = &context_.tensors.at(op.reads[k].tensor);
  operation.reads.back() = op.base >= 0 ? &context_.tensors.at(op.base) : nullptr;
  for (std::size_t k = 0; k < op.outputs.size(); ++k) {
    run.outputs[k] = &context_.tensors.add({op.outputs[k], operation.outputs[k]});
    run.outputs[k]->site = op.site;
  }
  tasks_.bind(operation);
  for (const plan::TensorId id : repeat.last_names) context_.tensors.drop_name(id);
  for (TaskRun& task : run.tasks) {
    execute(task);
    tasks_.end_repeated(task);
  }
  run.kernel = nullptr;
}

}  // namespace tdsl::rt
