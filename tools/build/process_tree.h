#pragma once

#include <sys/types.h>

#include <map>
#include <string>

namespace tdsl::codegen {

/// True if the process exists and has not ended; a process that has ended stays in the system's table until its exit
/// code is collected.
[[nodiscard]] bool is_running(pid_t process);

/// A process and all descendants observed so far, including those that have lost their parent since then.
class ProcessTree {
 public:
  explicit ProcessTree(pid_t root);

  /// Adds descendants started since the last call. Returns true if there were any.
  bool look();
  /// True if a process of the tree is running.
  [[nodiscard]] bool runs() const;
  /// Ends all of them by SIGKILL. They are stopped first, so that none can start another one in between.
  void kill();

 private:
  std::map<pid_t, std::string> members_;  ///< with their start times: process numbers are reused
};

}  // namespace tdsl::codegen
