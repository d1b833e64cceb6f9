#pragma once

#include <string>
#include <string_view>

namespace tdsl::rt {

/// Writes a text under a name beside the file that nobody can foresee, and renames: whoever reads the file sees the old text or the new one.
/// A file keeps its mode and a link stays one; what is no regular file (a pipe, /dev/stdout) is written to. Throws RunError.
void write_text_file(const std::string& path, std::string_view text);

/// The whole text of a regular file. Throws RunError.
[[nodiscard]] std::string read_text_file(const std::string& path);

}  // namespace tdsl::rt
