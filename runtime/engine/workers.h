#pragma once

#include <atomic>
#include <cstddef>

namespace tdsl::rt {

/// What the threads of a rank do. Under the lock, except `waits_for`.
struct Workers {
  int running = 0;             ///< kernels
  bool program_works = false;  ///< the program's thread is between calls of the engine
  bool polling = false;        ///< a thread polls for the idle rank
  bool was_idle = false;       ///< since `idle_since` no poll moved anything and no task ran
  double idle_since = 0;
  bool stopping = false;                                  ///< the program has returned
  std::atomic<const char*> waits_for{"the other ranks"};  ///< a rank without work
};

/// Without the lock.
struct Polls {
  std::atomic<double> last{0};             ///< when it began
  std::atomic<std::size_t> backlog{0};     ///< control messages that MPI had not sent at the last poll
  std::atomic<bool> includes_disk{false};  ///< polls take completed transfers; false: the disk's threads do
};

}  // namespace tdsl::rt
