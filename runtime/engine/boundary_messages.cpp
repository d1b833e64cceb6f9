#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/engine/engine_state.h"
#include "runtime/engine/wire.h"

namespace tdsl::rt {

void Engine::State::send_boundary(const Boundaries::Message& message) {
  if (message.kind == Boundaries::Message::Kind::kNone) return;
  const bool to_first =
      message.kind == Boundaries::Message::Kind::kWant || message.kind == Boundaries::Message::Kind::kPassed;
  const std::vector<std::byte> bytes = wire::encode_note(
      {static_cast<Index>(message.kind) * 4 + static_cast<Index>(message.wish), std::to_string(message.number)});
  for (int rank = 0; rank < world.size(); ++rank) {
    if (rank != me && (rank == 0 || !to_first)) outbox.tell(rank, wire::kBoundary, bytes);
  }
}

void Engine::State::take_boundary(const ControlMessage& message) {
  const wire::Note note = wire::decode_note(message.bytes);
  send_boundary(boundaries.take({static_cast<Boundaries::Message::Kind>(note.number / 4),
                                 static_cast<Wish>(note.number % 4), std::stoll(note.text)}));
}

Wish Engine::at_boundary(Wish mine) {
  State& s = *state_;
  {
    const Lock lock(s.mutex);
    s.send_boundary(s.boundaries.arrive(mine));
  }
  s.poll();
  Wish here = Wish::kNone;
  s.work_until([&s, &here] {  // under the lock: the question may come at any time
    if (s.boundaries.waits()) return false;
    here = s.boundaries.leave();
    return true;
  });
  return here;
}

}  // namespace tdsl::rt
