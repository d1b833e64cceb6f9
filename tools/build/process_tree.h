#pragma once

#include <sys/types.h>

#include <map>
#include <string>

namespace tdsl::codegen {

/// Whether the process is there and has not ended; one that has ended may stay in the system's table until its exit
/// code is taken.
[[nodiscard]] bool is_running(pid_t process);

/// A process and all that descends from it, as far as it was seen: what has lost its parent since then still belongs to
/// it.
class ProcessTree {
 public:
  explicit ProcessTree(pid_t root);

  /// Adds descendants that have started since the last look. Returns whether there were any.
  bool look();
  /// Whether a process of the tree is left.
  [[nodiscard]] bool runs() const;
  /// Ends all of them by SIGKILL. They are stopped first, so that none starts another one meanwhile.
  void kill();

 private:
  std::map<pid_t, std::string> members_;  ///< with the moment of their start: numbers are used again
};

}  // namespace tdsl::codegen
