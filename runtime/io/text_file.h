#pragma once

#include <string>
#include <string_view>

namespace tdsl::rt {

/// Writes a text to an unpredictable temporary name next to the file, then renames it: readers see either the old or
/// the new text. The file keeps its mode, and a link remains a link; a character device or inherited stream (/dev/null,
/// /dev/stdout) is written directly. Throws RunError.
void write_text_file(const std::string& path, std::string_view text);

/// Throws RunError unless write_text_file can write there: (usage) for a pipe, a socket or a block device that is not
/// an inherited stream; also for a folder, a file without write permission, and a folder that is missing or not
/// writable.
void require_text_target(const std::string& path);

/// The whole text of a regular file. Throws RunError.
[[nodiscard]] std::string read_text_file(const std::string& path);

}  // namespace tdsl::rt
