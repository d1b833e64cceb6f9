#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "tools/build/interrupts.h"

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

/// Temporary folders and the child process that works in them. The *keeper*, a process that only waits, ends the child
/// and removes the folders when this object is destroyed or this process ends in any way, including by SIGKILL. A child
/// that has been asked to end has 5 s: then the keeper kills it with all its descendants.
class WorkFolder {
 public:
  /// Creates folders named PREFIX and six characters, none for an empty prefix. Throws ToolchainError if the keeper
  /// cannot be started.
  explicit WorkFolder(const std::vector<std::string>& prefixes);
  /// Waits until child and folders are gone.
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  /// Path of the folder with this position among the prefixes; empty if it could not be created.
  [[nodiscard]] const std::string& path(std::size_t position = 0) const { return paths_[position]; }
  /// Sets the child, as for `kill`; 0 when it has ended.
  void guard(pid_t child);
  /// The child has been asked to end: starts its time limit.
  void hasten(pid_t child);
  /// Descriptor for KeeperOrders.
  [[nodiscard]] int line() const { return line_; }

 private:
  InterruptHold hold_;  // destroyed last
  std::vector<std::string> paths_;
  int line_ = -1;  // to the keeper, which acts when it is closed
  pid_t keeper_ = 0;
};

}  // namespace tdsl::codegen
