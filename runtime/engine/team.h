#pragma once

#include <functional>
#include <memory>

namespace tdsl::rt {

class Leader;

/// Threads beside the calling one: a team of OpenMP, which places them as the user asks and keeps kernels from opening
/// teams of their own. Teams are kept for the process's later runs: starting threads takes longer than a small run.
class Team {
 public:
  /// Starts `work(thread)` on the threads 1 to `threads` - 1, or on fewer if OpenMP provides fewer. Throws RunError if
  /// the system starts no thread.
  Team(int threads, std::function<void(int)> work);
  /// Waits until all have returned.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

 private:
  std::unique_ptr<Leader> leader_;
};

}  // namespace tdsl::rt
