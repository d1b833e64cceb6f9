#pragma once

#include <functional>
#include <memory>

#include "runtime/engine/mpi/mpi_world.h"

namespace tdsl::rt {

// Note [Vigil]
// Before and after the engine runs, ranks wait for each other in collectives, which never return if a rank was stopped
// or disconnected. So a thread sends signs of life once a second, along the same tree as the engine's (heartbeat.h), on
// its own communicator; a thread that waits in a collective holds the MPI token and sends them itself. While the
// engine runs, the engine judges silence instead: it has more information. Ranks that are done announce it and are not
// missed.

/// Ends the run when a rank gives no sign of life outside the engine.
class Vigil {
 public:
  /// Calls lost(rank, seconds of silence) from any thread; it does not return.
  using Lost = std::function<void(int, int)>;

  /// Collective; needs at least two ranks, over MPI. `patience` in seconds, more than 0.
  Vigil(World& world, double patience, Lost lost);
  ~Vigil();
  Vigil(const Vigil&) = delete;
  Vigil& operator=(const Vigil&) = delete;

  /// Sets whether silence is judged from now on. Signs are sent in any case.
  void judge(bool judges);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tdsl::rt
