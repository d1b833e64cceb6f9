#include "runtime/engine/messages/notices.h"

#include <string>
#include <utility>

#include "runtime/engine/engine_state.h"

namespace tdsl::rt {

void Notices::expect(Index number, Index amount, Action action) {
  Tally& tally = tallies_[number];
  tally.expected = amount;
  tally.action = std::move(action);
  settle(tallies_.find(number));
}

void Notices::note(Index number, Index amount) {
  if (amount == 0) return;
  if (context_.me == 0) return add(number, amount);
  outbox_.tell(0, wire::kNotice, wire::encode_note({number, std::to_string(amount)}));
}

void Notices::take_message(const ControlMessage& message) {
  const wire::Note note = wire::decode_note(message.bytes);
  add(note.number, std::stoll(note.text));
}

void Notices::add(Index number, Index amount) {
  tallies_[number].noted += amount;
  settle(tallies_.find(number));
}

void Notices::settle(std::map<Index, Tally>::iterator at) {
  Tally& tally = at->second;
  if (tally.noted != tally.expected) return;
  due_.push_back(std::move(tally.action));
  tallies_.erase(at);
}

bool Notices::end() {
  if (context_.me == 0) return idle() && (tallies_.empty() || ended_ == context_.world.size() - 1);
  if (std::exchange(ended_, 1) == 0) outbox_.tell(0, wire::kNoted, {});
  return true;
}

std::vector<Notices::Action> Notices::take_due() {
  calling_ += due_.size();
  return std::exchange(due_, {});
}

void Engine::expect_notes(Index number, Index amount, std::function<void()> action) {
  State& s = *state_;
  std::vector<Notices::Action> due;
  {
    const Lock lock(s.context.mutex);
    s.notices.expect(number, amount, std::move(action));
    due = s.notices.take_due();
  }
  s.call_due(due);
}

void Engine::note(Index number, Index amount) {
  State& s = *state_;
  std::vector<Notices::Action> due;
  {
    const Lock lock(s.context.mutex);
    s.notices.note(number, amount);
    due = s.notices.take_due();
  }
  s.call_due(due);
}

}  // namespace tdsl::rt
