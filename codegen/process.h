#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tdsl::codegen {

struct ProcessResult {
  int exit_code = 0;   ///< 128 + signal when a signal ended it; 127 when it could not be started
  std::string output;  ///< standard output and error, where captured
};

struct ProcessRequest {
  std::vector<std::string> command;  ///< program (looked up in PATH unless it has a '/') and arguments; no shell sees them
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to, or replacing, this process's
  bool capture = false;  ///< collect standard output and error instead of passing them on
};

/// Runs a program and waits for it. Interrupts from the terminal go to the program; this process waits for its answer.
[[nodiscard]] ProcessResult run_process(const ProcessRequest& request);

}  // namespace tdsl::codegen
