#include "runtime/engine/messages/boundary_messages.h"

#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/engine_state.h"

namespace tdsl::rt {

void send_boundary(Outbox& outbox, const Boundaries::Message& message) {
  if (message.kind == Boundaries::Message::Kind::kNone) return;
  std::vector<std::byte> bytes = wire::encode_note(
      {static_cast<Index>(message.kind) * 4 + static_cast<Index>(message.wish), std::to_string(message.number)});
  if (message.kind == Boundaries::Message::Kind::kWant || message.kind == Boundaries::Message::Kind::kPassed) {
    outbox.tell(0, wire::kBoundary, std::move(bytes));
  } else {
    outbox.tell_others(wire::kBoundary, bytes);
  }
}

Boundaries::Message decode_boundary(const ControlMessage& message) {
  const wire::Note note = wire::decode_note(message.bytes);
  return {static_cast<Boundaries::Message::Kind>(note.number / 4), static_cast<Wish>(note.number % 4),
          std::stoll(note.text)};
}

Wish Engine::at_boundary(Wish mine) {
  State& s = *state_;
  {
    const Lock lock(s.context.mutex);
    send_boundary(s.outbox, s.boundaries.arrive(mine));
  }
  s.poll();
  std::optional<Wish> here;
  s.work_until([&s, &here] {  // under the lock: rank 0 may ask at any time
    if (!here && !s.boundaries.waits()) here = s.boundaries.leave();
    return here.has_value();
  });
  return *here;
}

}  // namespace tdsl::rt
