#pragma once

#include <memory>

#include "runtime/app/environment.h"
#include "runtime/engine/mpi_world.h"

namespace tdsl::rt {

/// The world of a program that is called by another one: the ranks of `communicator`, the address of an MPI_Comm. Null: all ranks, if the caller
/// has started MPI or a launcher has started the caller, else this process alone, without MPI. What the caller has started is left to it; MPI that is
/// started here ends with the process. Throws RunError.
[[nodiscard]] std::unique_ptr<World> world_of_caller(const void* communicator, const Environment& environment);

/// Whether MPI has been ended, by whomever: worlds that used it must not end any more.
[[nodiscard]] bool mpi_is_over();

}  // namespace tdsl::rt
