#pragma once

#include <sys/stat.h>

#include <string_view>

namespace tdsl::rt {

/// True if the path names a stream inherited by this process (`/dev/stdout`, or `/dev/fd/63` from a shell's
/// `>(command)`), which never blocks on open.
[[nodiscard]] inline bool is_open_stream(std::string_view path) {
  return path == "/dev/stdin" || path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/");
}

/// True if text can be written to the existing file of that mode: a regular file, a character device such as /dev/null,
/// or an inherited stream. Other pipes may wait forever for a reader.
[[nodiscard]] inline bool takes_text(std::string_view path, mode_t mode) {
  return S_ISREG(mode) || S_ISCHR(mode) || is_open_stream(path);
}

}  // namespace tdsl::rt
