#pragma once

#include "runtime/engine/boundaries.h"
#include "runtime/engine/messages/outbox.h"

namespace tdsl::rt {

/// Sends kWant and kPassed to rank 0, other messages to all other ranks, kNone not at all.
void send_boundary(Outbox& outbox, const Boundaries::Message& message);
[[nodiscard]] Boundaries::Message decode_boundary(const ControlMessage& message);

}  // namespace tdsl::rt
