#pragma once

#include <string>

namespace tdsl::rt {

/// A rank's liveness file for the launching process: rank-RANK in the session folder (TDSL_SESSION), while the rank
/// lives. A killed rank leaves it empty; a rank ended by a signal leaves `SIGNAL NANOSECONDS` in it, with the node's
/// clock time; a rank that exits normally removes it. At most one per process.
class LifeSign {
 public:
  LifeSign(const std::string& folder, int rank);
  ~LifeSign();
  LifeSign(const LifeSign&) = delete;
  LifeSign& operator=(const LifeSign&) = delete;

 private:
  std::string path_;
};

/// Writes the signal into this process's liveness file, if there is one. Async-signal-safe.
void mark_life_sign(int signal) noexcept;

}  // namespace tdsl::rt
