#pragma once

#include <memory>
#include <optional>

#include "runtime/base/environment.h"
#include "runtime/engine/mpi/mpi_world.h"

namespace tdsl::rt {

/// The ranks of a program called as a library: those of `communicator`, the address of an MPI_Comm or, if
/// `of_fortran`, of Fortran's integer. Null: all ranks if
/// the caller has initialised MPI or was started by a launcher, else this process alone, without MPI. MPI initialised
/// by the caller is left running; MPI initialised here ends with the process.
class CallerRanks {
 public:
  /// Collective. Throws RunError.
  CallerRanks(const void* communicator, bool of_fortran, const Environment& environment);
  /// Frees its communicator unless MPI has been finalised or `abandon` was called.
  ~CallerRanks();
  CallerRanks(const CallerRanks&) = delete;
  CallerRanks& operator=(const CallerRanks&) = delete;

  /// Collective: a world with its own communicators, even after a previous one was given up. Throws RunError.
  [[nodiscard]] std::unique_ptr<World> make_world() const;
  /// Ranks may be missing: MPI is not called any more.
  void abandon();

 private:
  struct Communicator;
  std::unique_ptr<Communicator> ranks_;  ///< a duplicate used for no messages; null: without MPI
  std::optional<int> pretended_;         ///< ranks per node
};

/// True if MPI has been finalised, here or by the caller: worlds over MPI must not finalise it again.
[[nodiscard]] bool mpi_is_over();

}  // namespace tdsl::rt
