#pragma once

#include "runtime/engine/mpi/mpi_world.h"

namespace tdsl::rt {

/// Offset to add to this rank's World::now() to get rank 0's clock, accurate to half the fastest of several round
/// trips. Collective; no other messages may be in flight.
[[nodiscard]] double clock_offset(World& world);

}  // namespace tdsl::rt
