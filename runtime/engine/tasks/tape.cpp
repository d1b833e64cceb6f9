#include "runtime/engine/tasks/tape.h"

#include <omp.h>

#include "runtime/kernels/copy.h"

namespace tdsl::rt {

void Tape::add(const TaskRun& task, const Call& call) {
  complete_ = complete_ && call.sinks.empty() && call.blocks.empty();
  if (!complete_) return;
  Entry& entry = entries_.emplace_back();
  entry.kernel = task.operation->kernel;
  for (const Call::Assembly& assembly : call.assemblies) {
    complete_ = complete_ && assembly.wanted == nullptr && assembly.by_lists.empty();
    for (const Operand& part : assembly.parts) entry.copies.push_back({part, assembly.whole, assembly.element_bytes});
  }
  entry.runs = call.runs;
  entry.outputs = call.outputs;
  for (const Call::Run& run : entry.runs) {
    complete_ = complete_ && task.operation->space.points(run.labels) <= kPointsAtOnce;
    const bool fresh = call.fresh && &run == &entry.runs.front();
    entry.arguments.push_back(arguments_of(task, run, entry.outputs, fresh));
  }
}

void Tape::execute() const {
  for (const Entry& entry : entries_) {
    for (const Copy& copy : entry.copies) copy_box(copy.from, copy.to, copy.from.box, copy.element_bytes);
    for (const TaskArgs& arguments : entry.arguments) entry.kernel(arguments);
  }
}

bool Tape::repeat(int threads) const noexcept {
  bool complete = false;
#pragma omp parallel num_threads(1)
  {
    if (threads > 1) omp_set_num_threads(1);  // kernels open no teams
    try {
      execute();
      complete = true;
    } catch (...) {}  // NOLINT: the caller runs the program, which throws the same again
  }
  return complete;
}

}  // namespace tdsl::rt
