#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/build/work_folder.h"

namespace tdsl::codegen {

struct ProcessResult {
  int exit_code =
      0;           ///< 128 + signal if a signal ended it; 127 if it could not be started; of several, the first not 0
  int signal = 0;  ///< the signal that ended the process itself
  std::string output;      ///< standard output and error, if captured
  double cpu_seconds = 0;  ///< of the process and the children that it has waited for
};

struct ProcessRequest {
  std::vector<std::string>
      command;  ///< program (looked up in PATH unless it contains a '/') and arguments; not interpreted by a shell
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< added to, or replacing, this process's
  bool capture = false;  ///< collect standard output and error instead of passing them on
  /// If set, receives standard output piece by piece; false: no more is needed, and the process is asked to end.
  std::function<bool(std::string_view)> receive = {};
  WorkFolder* folder = nullptr;  ///< ends the process if this one is killed
  bool launcher = false;         ///< ends its own children properly: signals go to it alone, not to its process group
  std::vector<std::vector<std::string>> others = {};  ///< commands that run at the same time, in its process group
};

/// Runs a program in its own process group, without standard input, and waits for it. Signals that would end this
/// process (see handle_interrupts) are forwarded to the program; this process ends after it. With a folder, a program
/// that does not end within 5 s is killed with all its descendants.
[[nodiscard]] ProcessResult run_process(const ProcessRequest& request);

}  // namespace tdsl::codegen
