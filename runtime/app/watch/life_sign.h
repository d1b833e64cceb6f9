#pragma once

#include <string>

namespace tdsl::rt {

/// A rank's sign for whoever started it: the file rank-RANK in the session folder (TDSL_SESSION) while the rank lives.
/// A rank that is killed leaves it empty; one that a signal ends leaves `SIGNAL NANOSECONDS` in it, with the time of
/// the node's clock; one that ends by itself removes it. At most one per process.
class LifeSign {
 public:
  LifeSign(const std::string& folder, int rank);
  ~LifeSign();
  LifeSign(const LifeSign&) = delete;
  LifeSign& operator=(const LifeSign&) = delete;

 private:
  std::string path_;
};

/// Writes the signal into this process's sign, if there is one. Async-signal-safe.
void mark_life_sign(int signal) noexcept;

}  // namespace tdsl::rt
