#pragma once

#include "runtime/disk/disk.h"
#include "runtime/engine/context.h"
#include "runtime/engine/messages/in_flight.h"
#include "runtime/engine/messages/outbox.h"
#include "runtime/engine/store/disk_transfer.h"
#include "runtime/engine/tasks/operation.h"
#include "runtime/engine/trace.h"

namespace tdsl::rt {

/// Adds the engine's events to the calling thread's trace, which must exist unless noted. Under the lock, except
/// control().
class Tracer {
 public:
  explicit Tracer(const Context& context) : context_(context) {}

  /// An event with times in seconds of the engine's clock.
  [[nodiscard]] TraceEvent event(TraceKind kind, double start, double end) const {
    return {kind, context_.options.trace->at(context_.began + start), end - start};
  }
  void task(const TaskRun& task, double start, double end);
  void received(const RemotePiece& piece) const;
  /// No effect in threads without a trace.
  void sent(const InFlight::Sent& sent) const;
  void transfer(const DiskTransfer& transfer, const DiskCompletion& completion) const;
  void control(const PostControl& posting, double start) const;
  /// Determines the offset of the disk's clock.
  void compare_clocks();

 private:
  void memory(double time);

  const Context& context_;
  double disk_zero_ = 0;  ///< engine's time when the disk's clock is at 0
  double memory_traced_ = -1;
};

}  // namespace tdsl::rt
