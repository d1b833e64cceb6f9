#include "runtime/engine/tasks/operations.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/disk/disk.h"
#include "runtime/engine/tasks/repeated.h"

namespace tdsl::rt {

namespace {

constexpr std::size_t kMaxToAdmit = 64;
/// An operation of one task takes 4 KiB including its plan, and fragmentation by completed ones doubles that.
constexpr std::size_t kMaxUnfinished = 128;

/// Predicted seconds per point of dense work; infinite for other work.
double seconds_per_point(const OperationRun& operation, const plan::Machine& machine) {
  const plan::Op& op = operation.op();
  const bool known = op.op_class == plan::OpClass::kMap || op.op_class == plan::OpClass::kReduce ||
                     op.op_class == plan::OpClass::kContraction || op.op_class == plan::OpClass::kSource ||
                     op.op_class == plan::OpClass::kCombine || op.op_class == plan::OpClass::kCopy;
  const bool sized = operation.sized_output ||
                     std::ranges::any_of(operation.operands, [](const TensorInstance* t) { return t->sized(); });
  return known && !sized ? plan::seconds_of_point(op, machine) : std::numeric_limits<double>::infinity();
}

}  // namespace

bool Operations::have_room() const { return to_admit_.size() < kMaxToAdmit && unfinished_.size() < kMaxUnfinished; }

OperationRun& Operations::enter(std::shared_ptr<const plan::PlannedOp> op, Kernel kernel, Engine::Lend lend) {
  auto operation = std::make_shared<OperationRun>(std::move(op), std::move(kernel), inside_, context_.me);
  operation->number = submitted_++;
  operation->lend = std::move(lend);
  const plan::Op& description = operation->op();
  std::vector<plan::TensorId> read;
  for (const plan::Access& access : description.reads) read.push_back(access.tensor);
  if (description.base >= 0) read.push_back(description.base);
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  for (const plan::TensorId id : read) {
    operation->operands.push_back(&context_.tensors.at(id));
    ++operation->operands.back()->readers;
  }
  describe_reads(*operation);
  for (const plan::TensorDesc& output : description.outputs) {
    operation->outputs.push_back(&context_.tensors.add(outside_(output.id)));
    operation->outputs.back()->site = description.site;
    TDSL_CHECK(
        context_.options.disk != nullptr || operation->outputs.back()->placed.housing.home == plan::Home::kMemory,
        "a tensor whose home is the disk needs one");
    operation->sized_output = operation->sized_output || output.sized();
  }
  operation->seconds_per_point = seconds_per_point(*operation, context_.options.machine);
  // Sized blocks are replaced, not overwritten.
  operation->base_read_in_place = operation->base_read_in_place && !operation->sized_output;
  unfinished_.push_back(operation);
  operation->self = std::prev(unfinished_.end());
  to_admit_.push_back(operation.get());
  return *operation;
}

std::shared_ptr<RepeatedOperation> Operations::list(std::shared_ptr<plan::PlannedOp> op) {
  auto repeated = std::make_shared<RepeatedOperation>(std::move(op), outside_, context_.me, listed_tasks_);
  repeated->run.seconds_per_point = seconds_per_point(repeated->run, context_.options.machine);
  return list_tasks(*repeated, outside_) ? std::move(repeated) : nullptr;
}

OperationRun* Operations::next() {
  while (!to_admit_.empty()) {
    OperationRun& operation = *to_admit_.front();
    if (!operation.step_listed) operation.step_listed = operation.cursor.next(operation.step);
    if (operation.step_listed) return &operation;
    to_admit_.pop_front();
    operation.admitted = true;
    operation.kept.clear();
    for (TensorInstance* tensor : operation.operands) context_.tensors.drop_reader(*tensor);
    operation.operands.clear();
    if (operation.over()) finish(operation);
  }
  return nullptr;
}

void Operations::wait_for_effect(TaskRun& task) {
  OperationRun* const operation = task.operation;
  for (auto older = operation->self; older != unfinished_.begin();) {
    --older;
    if (!(*older)->op().ordered) continue;
    (*older)->waiting_effects.push_back(&task);
    ++task.missing;
    return;
  }
}

void Operations::finish(OperationRun& operation) {
  for (TaskRun* task : operation.waiting_effects) ready_.satisfy(*task);
  unfinished_.erase(operation.self);
}

}  // namespace tdsl::rt
