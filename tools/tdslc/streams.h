#pragma once

#include <string>

namespace tdsl::tools {

/// Text on standard error. That it cannot be written is no error of its own: the exit code says what happened.
void print_error(const std::string& text);

/// Writes out what has been printed on standard output. False if something could not be written; main says so, and the
/// exit code is 1.
[[nodiscard]] bool flush_output();

}  // namespace tdsl::tools
