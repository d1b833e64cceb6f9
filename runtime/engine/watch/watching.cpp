#include <exception>
#include <string>
#include <utility>

#include "runtime/engine/engine_state.h"
#include "runtime/engine/wire.h"

namespace tdsl::rt {

// Note [Signs of life]
// Once a second a thread that does nothing else polls if no worker did (kernels may be silent for long), and sends a
// pulse up and down a tree of arity 16. A pulse says how much has happened on the rank and below it, and whether
// anything can happen without a message. A neighbour that gives no sign for long is lost: the run ends. Pulses are
// messages like others, so a rank that receives none may be lost, or stopped, or cut off; a rank that was stopped
// itself forgives. Rank 0 knows the sums: nothing moves for minutes means a long kernel or something worse, so
// everybody is asked; nothing can move at all is a deadlock.

namespace {

/// Seconds.
constexpr double kStandstill = 300, kDeadlock = 60, kMostAnswering = 5, kBetweenRolls = 2;
/// Between polls of a rank whose workers do not poll.
constexpr double kPollBeside = 1;

}  // namespace

std::string Engine::State::whereabouts(const RankStatus& status) const {
  return (options.host.empty() ? "" : options.host + ": ") + text_of(status);
}

/// Sends pulses. Returns a rank that is lost.
std::optional<int> Engine::State::beat(const RankStatus& own) {
  const double slept = beaten < 0 ? 0 : now() - beaten;
  beaten = now();
  if (slept > Heartbeat::kOwnSleep) standing = stuck = Standstill();
  Pulse pulse{own.tasks + own.received, !own.busy, whereabouts(own)};
  std::optional<int> lost;
  if (heart) {
    lost = heart->tick(now());
    pulse = heart->sum(std::move(pulse), now());
    for (const int rank : heart->neighbours()) outbox.tell(rank, wire::kPulse, wire::encode_note({0, encode(pulse)}));
  }
  if (me == 0) look_for_standstill(pulse);
  return lost;
}

/// Of all ranks, on rank 0.
void Engine::State::look_for_standstill(const Pulse& all) {
  if (standing.lasts(all.progress, now(), kStandstill))
    begin_roll("nothing has finished on any rank for 5 minutes", false);
  // What is said of ranks below is a second old for each level of the tree.
  if (!all.idle) {
    stuck = Standstill();
  } else if (stuck.lasts(all.progress, now(), kDeadlock) &&
             !begin_roll("every rank waits and no message is under way: a deadlock", true)) {
    stuck = Standstill();  // another roll is being called: later
  }
}

/// Whether it has begun.
bool Engine::State::begin_roll(const std::string& reason, bool deadlock) {
  if (roll.asked >= 0 || now() - roll.ended < kBetweenRolls) return false;
  roll.asked = now();
  ++roll.number;
  roll.call = {reason, std::vector<std::string>(static_cast<std::size_t>(world.size())), deadlock};
  roll.call.answers.front() = whereabouts(status());
  roll.missing = world.size() - 1;
  outbox.tell_others(wire::kAsk, wire::encode_note({roll.number, {}}));
  return true;
}

void Engine::State::answer_roll(Index number) {
  outbox.tell(0, wire::kStatus, wire::encode_note({number, whereabouts(status())}));
}

void Engine::State::take_answer(int rank, Index number, std::string text) {
  if (roll.asked < 0 || number != roll.number) return;  // too late
  roll.call.answers[static_cast<std::size_t>(rank)] = std::move(text);
  --roll.missing;
}

void Engine::beat() {
  State& s = *state_;
  try {
    if (s.world.size() > 1 && s.now() - s.last_poll > kPollBeside) s.poll();
    const RankStatus own = status();
    std::optional<int> lost;
    std::string last;
    {
      const Lock lock(s.mutex);
      if (s.failure.failed() || s.stopping) return;
      lost = s.beat(own);
      if (lost) {
        last = "no sign of life from rank " + std::to_string(*lost) + " for " +
               std::to_string(static_cast<int>(s.heart->silence(*lost, s.now()))) + " s";
        if (const std::string where = s.heart->where(*lost); !where.empty()) last += "; it said last: " + where;
      }
    }
    s.poll();
    if (lost) throw RunError(last, kLostRank);
  } catch (...) { s.failure.fail(std::current_exception()); }
}

void Engine::ask_statuses(const std::string& reason) {
  State& s = *state_;
  const Lock lock(s.mutex);
  if (s.me == 0) {
    s.begin_roll(reason, false);
  } else {
    s.outbox.tell(0, wire::kAsk, wire::encode_note({0, reason}));
  }
}

std::optional<Engine::RollCall> Engine::statuses() {
  State& s = *state_;
  const Lock lock(s.mutex);
  if (s.roll.asked < 0 || (s.roll.missing > 0 && s.now() - s.roll.asked < kMostAnswering)) return std::nullopt;
  s.roll.asked = -1;
  s.roll.ended = s.now();
  return std::move(s.roll.call);
}

void Engine::stop(const RunError& error) { state_->failure.fail(std::make_exception_ptr(error)); }

}  // namespace tdsl::rt
