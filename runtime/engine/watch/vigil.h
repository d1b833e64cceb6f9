#pragma once

#include <functional>
#include <memory>

#include "runtime/engine/mpi/mpi_world.h"

namespace tdsl::rt {

// Note [Vigil]
// Before the engine runs and after it ranks wait for each other in collectives, where a rank that was stopped or cut
// off would be waited for without end. A thread gives signs of life once a second, along the tree of the engine's
// (heartbeat.h), on a communicator of its own; who waits in a collective has the MPI token, so that it gives them
// itself. While the engine runs it judges: it knows more. Ranks that are done say so, and are not missed.

/// Ends the run when a rank gives no sign of life outside of the engine.
class Vigil {
 public:
  /// Calls lost(rank, seconds of silence), which does not return, in any thread.
  using Lost = std::function<void(int, int)>;

  /// On all ranks alike; at least two, over MPI. `patience` in seconds, more than 0.
  Vigil(World& world, double patience, Lost lost);
  ~Vigil();
  Vigil(const Vigil&) = delete;
  Vigil& operator=(const Vigil&) = delete;

  /// Whether silence is judged from now on. Signs are given in any case.
  void judge(bool judges);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tdsl::rt
