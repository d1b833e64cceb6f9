#pragma once

#include <optional>
#include <string>

#include "runtime/engine/context.h"
#include "runtime/engine/messages/outbox.h"
#include "runtime/engine/watch/heartbeat.h"

namespace tdsl::rt {

// Note [Signs of life]
// Once a second the watching thread polls if no worker has (kernels may not poll for long), and sends a pulse up and
// down a tree of arity 16. A pulse contains the amount of progress on the rank and below it, and whether progress is
// possible without a message. If a neighbour sends no pulse for long, it is lost and the run ends. Pulses are ordinary
// messages, so a rank that receives none may be lost, stopped or disconnected; a rank that was itself stopped does not
// blame others. Rank 0 has the sums: no progress for minutes means a long kernel or an error, and rank 0 requests the
// status of all ranks; if no rank can proceed, it is a deadlock.

/// Signs of life of all ranks, and the statuses that rank 0 requests when nothing proceeds.
class Watching {
 public:
  Watching(const Context& context, Outbox& outbox) : context_(context), outbox_(outbox) {}

  /// The run begins.
  void begin();
  /// Once a second: sends pulses. Returns the error if a rank is lost.
  [[nodiscard]] std::optional<RunError> beat(const RankStatus& own);
  /// A pulse of another rank.
  void take_pulse(const ControlMessage& message);

  /// Rank 0 requests the status of all ranks; false: a request is pending or has just ended.
  bool ask(const RankStatus& own, const std::string& reason, bool deadlock);
  /// Any rank: the same, via rank 0.
  void request(const RankStatus& own, const std::string& reason);
  /// Handles a request on rank 0, on other ranks rank 0's question.
  void take_ask(const RankStatus& own, const ControlMessage& message);
  void take_status(const ControlMessage& message);
  /// The statuses that rank 0 has requested, once all have arrived or after 5 s.
  [[nodiscard]] std::optional<Engine::RollCall> take_statuses();

 private:
  [[nodiscard]] std::string describe(const RankStatus& status) const;
  void look_for_standstill(const RankStatus& own, const Pulse& all);

  struct Roll {
    Index number = 0;
    double asked = -1;    ///< time; below 0: no roll is open
    double ended = -1e9;  ///< of the previous one
    int missing = 0;
    Engine::RollCall call;
  };
  const Context& context_;
  Outbox& outbox_;
  std::optional<Heartbeat> heart_;
  Standstill standing_, stuck_;
  double beaten_ = -1;  ///< time of the previous beat
  Roll roll_;
};

}  // namespace tdsl::rt
