#pragma once

#include "runtime/engine/mpi/mpi_world.h"

namespace tdsl::rt {

/// What is added to this rank's World::now() to have rank 0's, within half the time of the fastest of several messages
/// there and back. Every rank calls it while nothing else is under way.
[[nodiscard]] double clock_offset(World& world);

}  // namespace tdsl::rt
