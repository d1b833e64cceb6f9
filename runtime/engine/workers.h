#pragma once

#include <atomic>
#include <cstddef>

namespace tdsl::rt {

/// State of a rank's threads. Protected by the lock, except `waits_for`.
struct Workers {
  int running = 0;             ///< running kernels
  bool program_works = false;  ///< the program's thread is outside the engine
  bool polling = false;        ///< a thread polls for the idle rank
  bool was_idle = false;       ///< no poll has made progress and no task has run since `idle_since`
  double idle_since = 0;
  bool stopping = false;                                  ///< the program has returned
  std::atomic<const char*> waits_for{"the other ranks"};  ///< reason for idleness
};

/// Accessed without the lock.
struct Polls {
  std::atomic<double> last{0};             ///< start time of the last poll
  std::atomic<std::size_t> backlog{0};     ///< control messages not yet sent by MPI at the last poll
  std::atomic<bool> includes_disk{false};  ///< polls handle completed transfers; false: the disk's threads do
};

}  // namespace tdsl::rt
