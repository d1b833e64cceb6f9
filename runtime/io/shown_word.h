#pragma once

#include <string>
#include <string_view>

namespace tdsl::rt {

/// A field of a file for a message, in quotes: at most 40 bytes of it. UTF-8 stays; bytes that are none, and what a
/// terminal would obey, are `\xNN`.
[[nodiscard]] std::string shown_word(std::string_view word);

}  // namespace tdsl::rt
