#pragma once

#include <algorithm>
#include <string>
#include <string_view>

// Ids of run-time errors. A message has its id in brackets at the end of its first line, as the compiler's messages
// have; `tdslc --explain ID` prints the section of docs/errors.md.

namespace tdsl::rt {

/// The id of a message, or nothing.
[[nodiscard]] inline std::string_view id_in(std::string_view message) {
  const std::string_view line = message.substr(0, message.find('\n'));
  const std::size_t open = line.rfind(" [");
  if (open == std::string_view::npos || !line.ends_with(']')) return {};
  const std::string_view id = line.substr(open + 2, line.size() - open - 3);
  const bool plain = std::ranges::all_of(id, [](char c) { return c == '-' || (c >= 'a' && c <= 'z'); });
  return plain ? id : std::string_view{};
}

/// The message with `id`, unless it has one.
[[nodiscard]] inline std::string with_id(std::string message, std::string_view id) {
  if (!id_in(message).empty()) return message;
  return message.insert(std::min(message.find('\n'), message.size()), " [" + std::string(id) + "]");
}

/// The message without its id, as a part of a longer one.
[[nodiscard]] inline std::string without_id(std::string message) {
  if (const std::string_view id = id_in(message); !id.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    message.erase(end - id.size() - 3, id.size() + 3);
  }
  return message;
}

}  // namespace tdsl::rt
