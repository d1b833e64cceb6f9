#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tdsl::frontend {

/// The reason why a file name is refused, or nullopt. A path with control characters (line breaks, escape codes) would
/// break the messages that show it. The returned text escapes them as `\n` and `\x1b`.
[[nodiscard]] std::optional<std::string> objection_to_name(std::string_view path);

}  // namespace tdsl::frontend
