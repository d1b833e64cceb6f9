#include <cstring>
#include <utility>

#include "runtime/engine/engine.h"
#include "runtime/engine/engine_state.h"
#include "runtime/engine/wire.h"

// Data that ranks hand each other outside of operations. It travels as control messages, so that a rank may be anywhere
// in its program when one arrives.

namespace tdsl::rt {

namespace {

/// Messages that a rank has handed to MPI and that are not taken over yet.
constexpr std::size_t kMessagesAhead = 16;

}  // namespace

void Engine::State::take_exchange(const ControlMessage& message) {
  wire::Part part = wire::decode_part(message.bytes);
  Exchange& exchange = exchanges[part.number];
  exchange.from.resize(static_cast<std::size_t>(world.size()));
  if (part.last) {
    ++exchange.ended;
  } else {
    exchange.from[static_cast<std::size_t>(message.source)].push_back(std::move(part.bytes));
  }
}

Engine::Received Engine::exchange(const Outgoing& next) {
  State& s = *state_;
  const Index number = s.exchange_count++;
  const auto post = [&](int target, bool last, std::span<const std::byte> bytes) {
    const Lock lock(s.mutex);
    s.outbox.tell(target, wire::kExchange, wire::encode_part(number, last, bytes));
  };
  int target = 0;
  std::vector<std::byte> bytes;
  while (next(target, bytes)) {
    post(target, false, bytes);
    s.poll();
    s.work_until([&s] { return s.outbox.empty() && s.control_backlog <= kMessagesAhead; });
  }
  for (int rank = 0; rank < s.world.size(); ++rank) {
    if (rank != s.me) post(rank, true, {});
  }
  s.poll();
  s.work_until([&s, number] { return s.world.size() == 1 || s.exchanges[number].ended + 1 == s.world.size(); });
  const Lock lock(s.mutex);
  Received received = std::move(s.exchanges[number].from);
  s.exchanges.erase(number);
  received.resize(static_cast<std::size_t>(s.world.size()));
  return received;
}

}  // namespace tdsl::rt
