#pragma once

#include <string>
#include <string_view>

namespace tdsl::rt {

/// A field of a file, quoted for a message: at most 40 bytes. Valid UTF-8 is kept; invalid bytes and terminal control
/// characters become `\xNN`.
[[nodiscard]] std::string shown_word(std::string_view word);

}  // namespace tdsl::rt
