#pragma once

#include <string>
#include <string_view>

namespace tdsl::rt {

/// Writes a text under a name beside the file that nobody can foresee, and renames: whoever reads the file sees the old
/// text or the new one. A file keeps its mode and a link stays one; a character device and an open stream (/dev/null,
/// /dev/stdout) are written to. Throws RunError.
void write_text_file(const std::string& path, std::string_view text);

/// Throws RunError unless write_text_file can write there: (usage) for a pipe, a socket or a block device that is no
/// open stream; for a folder, a file without permission, and a folder that is missing or where no file can be made.
void require_text_target(const std::string& path);

/// The whole text of a regular file. Throws RunError.
[[nodiscard]] std::string read_text_file(const std::string& path);

}  // namespace tdsl::rt
