#pragma once

#include <memory>
#include <optional>

#include "runtime/base/environment.h"
#include "runtime/engine/mpi/mpi_world.h"

namespace tdsl::rt {

/// The ranks of a program that is called by another one: those of `communicator`, the address of an MPI_Comm. Null: all
/// ranks, if the caller has started MPI or a launcher has started the caller, else this process alone, without MPI.
/// What the caller has started is left to it; MPI that is started here ends with the process.
class CallerRanks {
 public:
  /// Collective. Throws RunError.
  CallerRanks(const void* communicator, const Environment& environment);
  /// Frees its communicator unless MPI is over or `abandon` was called.
  ~CallerRanks();
  CallerRanks(const CallerRanks&) = delete;
  CallerRanks& operator=(const CallerRanks&) = delete;

  /// Collective: a world with communicators of its own, also where an earlier one was given up. Throws RunError.
  [[nodiscard]] std::unique_ptr<World> make_world() const;
  /// Ranks may be missing: no call of MPI any more.
  void abandon();

 private:
  struct Communicator;
  std::unique_ptr<Communicator> ranks_;  ///< a duplicate that no message is sent through; null: without MPI
  std::optional<int> pretended_;         ///< ranks per node
};

/// Whether MPI has been ended, by whomever: worlds that used it must not end any more.
[[nodiscard]] bool mpi_is_over();

}  // namespace tdsl::rt
