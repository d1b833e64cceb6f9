#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/build/work_folder.h"

namespace tdsl::codegen {

struct ProcessResult {
  int exit_code = 0;   ///< 128 + signal when a signal ended it; 127 when it could not be started
  int signal = 0;      ///< what ended the process itself
  std::string output;  ///< standard output and error, where captured
};

struct ProcessRequest {
  std::vector<std::string>
      command;  ///< program (looked up in PATH unless it has a '/') and arguments; no shell sees them
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< added to, or replacing, this process's
  bool capture = false;  ///< collect standard output and error instead of passing them on
  /// Is given standard output piece by piece, if set; false: nothing more is wanted, and the process is asked to end.
  std::function<bool(std::string_view)> receive = {};
  WorkFolder* folder = nullptr;  ///< ends the process if this one is killed
  bool launcher = false;  ///< ends its own children in good order: signals are for itself, not for its process group
};

/// Runs a program in a process group of its own and waits for it. It has no standard input. Signals that are to end
/// this process (see handle_interrupts) are passed on to the program; this process ends after it. With a folder, a
/// program that does not end within 5 s is killed with all its descendants.
[[nodiscard]] ProcessResult run_process(const ProcessRequest& request);

}  // namespace tdsl::codegen
