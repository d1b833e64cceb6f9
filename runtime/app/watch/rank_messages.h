#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/engine/mpi/mpi_world.h"

// Messages of the run's beginning and end, when no engine is at work.

namespace tdsl::rt {

enum AppTag : int { kClockAsk = 64, kClockAnswer = 65, kTraceEvents = 66 };

/// Waits for a message of that kind; others of this kind of end are nobody's any more.
[[nodiscard]] ControlMessage await_message(World& world, int tag);
/// Sends, and waits until MPI has taken it over.
void send_message(World& world, int rank, int tag, std::span<const std::byte> bytes);

}  // namespace tdsl::rt
