#include "runtime/engine/watch/profile.h"

namespace tdsl::rt {

void SiteCounts::count(const TaskRun& task, double start, double end, bool kernel) {
  const OperationRun& operation = *task.operation;
  const plan::Op& op = operation.op();
  SiteStatistics& site = sites.at(op.site);
  if (site.tasks++ == 0) site.first_start = start;
  site.first_start = std::min(site.first_start, start);
  site.last_end = std::max(site.last_end, end);
  site.kernel_seconds += end - start;
  if (!kernel) return;
  ++site.kernels;
  if (task.task.hit)
    site.flops += plan::flops_of_points(op, operation.visited, task.labels,
                                        static_cast<double>(operation.space.points(task.labels)));
}

void IdleTime::begin() {
  if (since_ != kNever) return;
  since_ = context_.now();
  site_ = profile_.front.site();
  profile_.front.idle(since_, 1);
}

void IdleTime::end() {
  if (since_ == kNever) return;
  const double time = context_.now();
  profile_.front.idle(time, -1);
  if (thread_trace != nullptr) thread_trace->add(tracer_.event(TraceKind::kWait, since_, time).site(site_));
  since_ = kNever;
}

}  // namespace tdsl::rt
