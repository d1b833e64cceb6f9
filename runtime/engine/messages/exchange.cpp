#include "runtime/engine/messages/exchange.h"

#include <utility>

#include "runtime/engine/engine_state.h"

namespace tdsl::rt {

namespace {

/// Maximum number of a rank's messages not yet sent by MPI.
constexpr std::size_t kMessagesAhead = 16;

}  // namespace

void Exchanges::send(Index number, int target, std::span<const std::byte> bytes) {
  outbox_.tell(target, wire::kExchange, wire::encode_part(number, false, bytes));
}

void Exchanges::end(Index number) { outbox_.tell_others(wire::kExchange, wire::encode_part(number, true, {})); }

Engine::Received Exchanges::take(Index number) {
  Engine::Received received = std::move(exchanges_[number].from);
  exchanges_.erase(number);
  received.resize(static_cast<std::size_t>(context_.world.size()));
  return received;
}

void Exchanges::take_message(const ControlMessage& message) {
  wire::Part part = wire::decode_part(message.bytes);
  Exchange& exchange = exchanges_[part.number];
  exchange.from.resize(static_cast<std::size_t>(context_.world.size()));
  if (part.last) {
    ++exchange.ended;
  } else {
    exchange.from[static_cast<std::size_t>(message.source)].push_back(std::move(part.bytes));
  }
}

void Exchanges::share(Index number, const std::string& text) {
  outbox_.tell_others(wire::kShare, wire::encode_note({number, text}));
}

void Exchanges::take_shared(const ControlMessage& message) {
  wire::Note note = wire::decode_note(message.bytes);
  texts_.emplace(note.number, std::move(note.text));
}

Engine::Received Engine::exchange(const Outgoing& next) {
  State& s = *state_;
  const Index number = s.exchanges.begin();
  int target = 0;
  std::vector<std::byte> bytes;
  while (next(target, bytes)) {
    {
      const Lock lock(s.context.mutex);
      s.exchanges.send(number, target, bytes);
    }
    s.poll();
    s.work_until([&s] { return s.outbox.empty() && s.polls.backlog <= kMessagesAhead; });
  }
  {
    const Lock lock(s.context.mutex);
    s.exchanges.end(number);
  }
  s.poll();
  s.work_until([&s, number] { return s.exchanges.complete(number); });
  const Lock lock(s.context.mutex);
  return s.exchanges.take(number);
}

std::string Engine::share(std::string text) {
  State& s = *state_;
  const Index number = s.exchanges.begin();
  if (s.context.me != 0) {
    s.workers.waits_for = "a text of rank 0";
    s.work_until([&s, number] { return s.exchanges.has_text(number); });
    const Lock lock(s.context.mutex);
    return s.exchanges.take_text(number);
  }
  {
    const Lock lock(s.context.mutex);
    s.exchanges.share(number, text);
  }
  s.poll();
  return text;
}

}  // namespace tdsl::rt
