#pragma once

#include <string>

namespace tdsl::tools {

/// Prints to standard error. Write errors are ignored: the exit code shows what happened.
void print_error(const std::string& text);

/// Flushes standard output. Returns false if something could not be written; main reports it, and the exit code is 1.
[[nodiscard]] bool flush_output();

}  // namespace tdsl::tools
