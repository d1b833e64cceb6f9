#pragma once

#include <sys/stat.h>

#include <string_view>

namespace tdsl::rt {

/// Whether the path names a stream that this process was started with (`/dev/stdout`, `/dev/fd/63` of a shell's
/// `>(command)`): opening it never waits.
[[nodiscard]] inline bool is_open_stream(std::string_view path) {
  return path == "/dev/stdin" || path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/");
}

/// Whether a text can be written to the existing file of that mode: a regular file, a character device such as
/// /dev/null, an open stream. A pipe of another name waits for a reader that may never come.
[[nodiscard]] inline bool takes_text(std::string_view path, mode_t mode) {
  return S_ISREG(mode) || S_ISCHR(mode) || is_open_stream(path);
}

}  // namespace tdsl::rt
