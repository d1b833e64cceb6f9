#include "runtime/engine/boundaries.h"

#include <algorithm>
#include <utility>

namespace tdsl::rt {

using Kind = Boundaries::Message::Kind;

Boundaries::Message Boundaries::arrive(Wish mine) {
  if (mine > told_) {
    told_ = mine;
    if (rank_ != 0) return {Kind::kWant, mine, 0};
    wanted_ = std::max(wanted_, mine);
  }
  if (rank_ != 0 || wanted_ == Wish::kNone || asked_) return {};
  asked_ = true;
  answers_ = 0;
  most_ = 0;
  note(earliest());
  if (ranks_ > 1) return {Kind::kAsk, Wish::kNone, 0};
  static_cast<void>(decide());
  return {};
}

void Boundaries::note(std::int64_t earliest) {
  ++answers_;
  most_ = std::max(most_, earliest);
}

Boundaries::Message Boundaries::decide() {
  asked_ = false;
  const Wish wish = decided_[most_] = std::exchange(wanted_, Wish::kNone);
  return {Kind::kSaveAt, wish, most_};
}

Wish Boundaries::leave() {
  const auto here = decided_.find(passed_++);
  if (here == decided_.end()) return Wish::kNone;
  const Wish wish = here->second;
  decided_.erase(here);
  told_ = Wish::kNone;
  return wish;
}

Boundaries::Message Boundaries::take(const Message& message) {
  switch (message.kind) {
    case Kind::kNone: return {};
    case Kind::kWant: wanted_ = std::max(wanted_, message.wish); return {};
    case Kind::kAsk: asked_ = true; return {Kind::kPassed, Wish::kNone, earliest()};
    case Kind::kPassed: note(message.number); return answers_ == ranks_ ? decide() : Message{};
    case Kind::kSaveAt:
      asked_ = false;
      decided_[message.number] = message.wish;
      return {};
  }
  return {};
}

}  // namespace tdsl::rt
