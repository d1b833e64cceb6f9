#pragma once

#include <string>

namespace tdsl::rt {

/// The language chooses a file's format by its extension. Throws RunError naming the path when the extension belongs to
/// a format that is not supported yet, or, for a file to be written, to none.
void require_readable_kind(const std::string& path);
void require_writable_kind(const std::string& path);

}  // namespace tdsl::rt
