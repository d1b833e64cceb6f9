#pragma once

#include <string>
#include <string_view>

namespace tdsl::frontend {

/// Whether the text begins with a control character of bidirectional text (U+202A to U+202E, U+2066 to U+2069): what
/// follows it is shown in another order than it is compiled in.
[[nodiscard]] inline bool begins_with_direction(std::string_view text) {
  if (!text.starts_with('\xE2') || text.size() < 3) return false;
  const auto last = static_cast<unsigned char>(text[2]);
  return (text[1] == '\x80' && last >= 0xAA && last <= 0xAE) || (text[1] == '\x81' && last >= 0xA6 && last <= 0xA9);
}

/// The text in the order of its characters: U+FFFD stands for each such control.
[[nodiscard]] inline std::string without_directions(std::string_view text) {
  std::string result(text);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (begins_with_direction(std::string_view(result).substr(i))) result.replace(i, 3, "\xEF\xBF\xBD");
  }
  return result;
}

}  // namespace tdsl::frontend
