#pragma once

#include <string>
#include <string_view>

namespace tdsl::frontend {

/// True if the text begins with a bidirectional control character (U+202A to U+202E, U+2066 to U+2069), which makes the
/// displayed order differ from the compiled order.
[[nodiscard]] inline bool begins_with_direction(std::string_view text) {
  if (!text.starts_with('\xE2') || text.size() < 3) return false;
  const auto last = static_cast<unsigned char>(text[2]);
  return (text[1] == '\x80' && last >= 0xAA && last <= 0xAE) || (text[1] == '\x81' && last >= 0xA6 && last <= 0xA9);
}

/// The text in logical order: each bidirectional control becomes U+FFFD.
[[nodiscard]] inline std::string without_directions(std::string_view text) {
  std::string result(text);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (begins_with_direction(std::string_view(result).substr(i))) result.replace(i, 3, "\xEF\xBF\xBD");
  }
  return result;
}

}  // namespace tdsl::frontend
