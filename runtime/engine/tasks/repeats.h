#pragma once

#include <functional>
#include <memory>
#include <span>

#include "runtime/engine/tasks/footprint.h"
#include "runtime/engine/tasks/repeated.h"
#include "runtime/engine/tasks/tasks.h"
#include "runtime/engine/watch/profile.h"

namespace tdsl::rt {

// Note [Repeats]
// An iteration of small operations spends most of its time on discovery: plans, steps, tasks, boxes, blocks,
// dependences. The one before had the same. On a rank that runs alone a segment whose form was seen before
// (record/segment_form.h) skips all of this: its operations were listed once (RepeatedOperation), and each execution
// gives the lists the tensors of this iteration. The program's thread runs the tasks in the order of their listing,
// which is the order in which one thread runs submitted ones, through the same preparation of calls (KernelCalls), so
// kernels see the same boxes, and the bits are equal. Blocks are held, taken over and freed by the same counts, and
// statistics, traces and checks see each task.
//
// Submitted operations are complete before, so nothing waits, and every step is the least one: it needs room in memory
// only. With several threads only segments below a grain per thread are repeated (is_small): no other thread is woken.

/// Operations that run at once instead of being submitted. Under the lock.
class Repeats {
 public:
  Repeats(Context& context, Footprint& footprint, SiteCounts& profile, Operations& operations, Tasks& tasks)
      : context_(context), footprint_(footprint), profile_(profile), operations_(operations), tasks_(tasks) {}

  /// See Engine.
  [[nodiscard]] std::shared_ptr<RepeatedOperation> list(std::shared_ptr<plan::PlannedOp> op);
  [[nodiscard]] bool is_small(std::span<const Engine::Repeat> segment) const;
  /// Runs an operation. No submitted one is unfinished. `execute` runs a task's kernel.
  void run(Engine::Repeat& repeat, const std::function<void(TaskRun&)>& execute);

 private:
  Context& context_;
  Footprint& footprint_;
  SiteCounts& profile_;
  Operations& operations_;
  Tasks& tasks_;
};

}  // namespace tdsl::rt
