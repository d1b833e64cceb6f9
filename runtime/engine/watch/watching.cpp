#include "runtime/engine/watch/watching.h"

#include <exception>
#include <utility>

#include "runtime/engine/engine_state.h"

namespace tdsl::rt {

namespace {

/// All in seconds.
constexpr double kStandstill = 300, kDeadlock = 60, kMostAnswering = 5, kBetweenRolls = 2;
/// Seconds between polls of a rank whose workers do not poll.
constexpr double kPollBeside = 1;

}  // namespace

void Watching::begin() {
  if (!context_.single())
    heart_.emplace(context_.me, context_.world.size(), context_.options.heartbeat, context_.now());
}

std::string Watching::describe(const RankStatus& status) const {
  return (context_.options.host.empty() ? "" : context_.options.host + ": ") + text_of(status);
}

std::optional<RunError> Watching::beat(const RankStatus& own) {
  const double now = context_.now();
  const double slept = beaten_ < 0 ? 0 : now - beaten_;
  beaten_ = now;
  if (slept > Heartbeat::kOwnSleep) standing_ = stuck_ = Standstill();
  Pulse pulse{own.tasks + own.received, !own.busy, describe(own)};
  std::optional<int> lost;
  if (heart_) {
    lost = heart_->tick(now);
    pulse = heart_->sum(std::move(pulse), now);
    for (const int rank : heart_->neighbours()) outbox_.tell(rank, wire::kPulse, wire::encode_note({0, encode(pulse)}));
  }
  if (context_.me == 0) look_for_standstill(own, pulse);
  if (!lost) return std::nullopt;
  const std::string where = heart_->where(*lost);
  return RunError("no sign of life from rank " + std::to_string(*lost) + " for " +
                      std::to_string(static_cast<int>(heart_->silence(*lost, now))) + " s" +
                      (where.empty() ? "" : "; it said last: " + where) + " [lost-rank]",
                  kLostRank);
}

/// Considers all ranks; called on rank 0.
void Watching::look_for_standstill(const RankStatus& own, const Pulse& all) {
  if (standing_.lasts(all.progress, context_.now(), kStandstill))
    ask(own, "nothing has finished on any rank for 5 minutes", false);
  // The contribution of lower ranks is one second old per level of the tree.
  if (!all.idle) {
    stuck_ = Standstill();
  } else if (stuck_.lasts(all.progress, context_.now(), kDeadlock) &&
             !ask(own, "every rank waits and no message is under way: a deadlock", true)) {
    stuck_ = Standstill();  // another roll is open: retry later
  }
}

void Watching::take_pulse(const ControlMessage& message) {
  if (heart_) heart_->hear(message.source, decode_pulse(wire::decode_note(message.bytes).text), context_.now());
}

bool Watching::ask(const RankStatus& own, const std::string& reason, bool deadlock) {
  if (roll_.asked >= 0 || context_.now() - roll_.ended < kBetweenRolls) return false;
  const int ranks = context_.world.size();
  roll_.asked = context_.now();
  ++roll_.number;
  roll_.call = {reason, std::vector<std::string>(static_cast<std::size_t>(ranks)), deadlock};
  roll_.call.answers.front() = describe(own);
  roll_.missing = ranks - 1;
  outbox_.tell_others(wire::kAsk, wire::encode_note({roll_.number, {}}));
  return true;
}

void Watching::request(const RankStatus& own, const std::string& reason) {
  if (context_.me == 0) {
    ask(own, reason, false);
  } else {
    outbox_.tell(0, wire::kAsk, wire::encode_note({0, reason}));
  }
}

void Watching::take_ask(const RankStatus& own, const ControlMessage& message) {
  const wire::Note note = wire::decode_note(message.bytes);
  if (context_.me == 0) {
    ask(own, note.text, false);
  } else {
    outbox_.tell(0, wire::kStatus, wire::encode_note({note.number, describe(own)}));
  }
}

void Watching::take_status(const ControlMessage& message) {
  wire::Note note = wire::decode_note(message.bytes);
  if (roll_.asked < 0 || note.number != roll_.number) return;  // too late
  roll_.call.answers[static_cast<std::size_t>(message.source)] = std::move(note.text);
  --roll_.missing;
}

std::optional<Engine::RollCall> Watching::take_statuses() {
  if (roll_.asked < 0 || (roll_.missing > 0 && context_.now() - roll_.asked < kMostAnswering)) return std::nullopt;
  roll_.asked = -1;
  roll_.ended = context_.now();
  return std::move(roll_.call);
}

void Engine::beat() {
  State& s = *state_;
  try {
    if (!s.context.single() && s.context.now() - s.polls.last > kPollBeside) s.poll();
    const RankStatus own = status();
    std::optional<RunError> lost;
    {
      const Lock lock(s.context.mutex);
      if (s.failure.failed() || s.workers.stopping) return;
      lost = s.watching.beat(own);
    }
    s.poll();
    {
      const Lock lock(s.context.mutex);
      s.ready.offer_any();
    }
    if (lost) throw RunError(*lost);
  } catch (...) { s.failure.fail(std::current_exception()); }
}

void Engine::ask_statuses(const std::string& reason) {
  State& s = *state_;
  const Lock lock(s.context.mutex);
  s.watching.request(s.status(), reason);
}

std::optional<Engine::RollCall> Engine::statuses() {
  const Lock lock(state_->context.mutex);
  return state_->watching.take_statuses();
}

void Engine::stop(const RunError& error) { state_->failure.fail(std::make_exception_ptr(error)); }

}  // namespace tdsl::rt
