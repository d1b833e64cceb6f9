#pragma once

#include <cstddef>
#include <span>

#include "runtime/engine/mpi/mpi_world.h"

// Messages at the beginning and end of a run, when no engine is running.

namespace tdsl::rt {

enum AppTag : int { kClockAsk = 64, kClockAnswer = 65, kTraceEvents = 66 };

/// Waits for a message with that tag; discards other messages of this phase.
[[nodiscard]] ControlMessage await_message(World& world, int tag);
/// Sends, and waits until MPI has completed the send locally.
void send_message(World& world, int rank, int tag, std::span<const std::byte> bytes);

}  // namespace tdsl::rt
