#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "runtime/engine/context.h"
#include "runtime/engine/messages/outbox.h"
#include "runtime/engine/tasks/ready_queue.h"

namespace tdsl::rt {

// Note [Abort channel]
// A rank that fails stops working and notifies rank 0. Rank 0 reports the first failure, once, then notifies all ranks;
// a rank ends when it has received the verdict. So the message is printed before any rank exits, and all ranks exit
// with the same code. A rank in a kernel learns of the failure at its next poll.

/// Failures of this rank and the verdict with which all ranks end.
class Failure {
 public:
  struct Verdict {
    std::string text;
    ExitCode code = ExitCode::kRunTime;
    bool agreed = true;  ///< the same on all ranks; false: some ranks did not answer
  };

  Failure(const Context& context, Outbox& outbox, ReadyQueue& ready)
      : context_(context), outbox_(outbox), ready_(ready) {}

  /// Stops this rank's work and starts the agreement. Without the lock, from any thread.
  void fail(std::exception_ptr error) noexcept;
  /// A failure or the verdict, from another rank.
  void take(const ControlMessage& message);
  /// Polls until the verdict is known and, on rank 0, sent, but at most 10 s: ranks may be lost.
  void settle(const std::function<void()>& poll);

  /// This rank has stopped working.
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] const std::optional<Verdict>& verdict() const { return verdict_; }

 private:
  void report(Verdict failure);

  const Context& context_;
  Outbox& outbox_;
  ReadyQueue& ready_;
  std::atomic<bool> failed_{false};
  std::optional<Verdict> verdict_;
  Verdict own_;  ///< sent to rank 0
};

}  // namespace tdsl::rt
