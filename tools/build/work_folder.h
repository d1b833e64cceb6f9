#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tools/build/interrupts.h"

namespace tdsl::codegen {

/// Temporary folders and the child process that works in them. The *keeper*, a process that only waits, ends the child
/// and removes the folders when this object is destroyed, and also when this process ends in any other way, by SIGKILL
/// too. A child that has been asked to end has 5 s: then the keeper kills it with all its descendants.
class WorkFolder {
 public:
  /// Makes folders named PREFIX and six characters, none for an empty prefix. Throws ToolchainError if the keeper
  /// cannot be started.
  explicit WorkFolder(const std::vector<std::string>& prefixes);
  /// Waits until all is gone.
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  /// Of the folder with this position among the prefixes; empty if it could not be made.
  [[nodiscard]] const std::string& path(std::size_t position = 0) const { return paths_[position]; }
  /// The child, as `kill` takes it; 0 when it has ended.
  void guard(pid_t child);
  /// The child has been asked to end.
  void hasten(pid_t child);
  /// Where the keeper hears KeeperOrders.
  [[nodiscard]] int line() const { return line_; }

 private:
  InterruptHold hold_;  // goes last
  std::vector<std::string> paths_;
  int line_ = -1;  // to the keeper, which acts when it is closed
  pid_t keeper_ = 0;
};

}  // namespace tdsl::codegen
