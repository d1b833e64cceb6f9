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
//
// Work that kernels have noted still counts (Notices): rank 0 lets the others leave when nothing that it waits for can
// arrive, and has its count reported before.
//
//     rank 0                                   another rank
//       | <--- failure ------------------------- |   its kernel threw
//  report | ---- abort ------------------------> |   no task starts; running kernels end
//       | <--- notices ------------------------- |
//       | <--- noted --------------------------- |   no more of them
//  ended  | ---- leave ------------------------> |

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
  /// Polls until the verdict is known and rank 0 has let all ranks leave, which it does once `noted` is true there: but
  /// at most 10 s, because ranks may be lost. `noted` is called under the lock, on every rank.
  void settle(const std::function<void()>& poll, const std::function<bool()>& noted);
  /// On rank 0, after a failure, under the lock: reports the end, once, and lets the other ranks leave.
  void end();

  /// This rank has stopped working.
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] const std::optional<Verdict>& verdict() const { return verdict_; }

 private:
  void report(Verdict failure);
  [[nodiscard]] bool settled(bool noted);

  const Context& context_;
  Outbox& outbox_;
  ReadyQueue& ready_;
  std::atomic<bool> failed_{false};
  std::optional<Verdict> verdict_;
  Verdict own_;             ///< sent to rank 0
  bool may_leave_ = false;  ///< rank 0 has ended the run
};

}  // namespace tdsl::rt
