#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tdsl::frontend {

/// Why a file cannot be a program or be imported, or nothing: a path with control characters (line breaks, escape
/// codes) would break messages, which show it, into several lines. The path is shown with `\n` and `\x1b` for such
/// characters.
[[nodiscard]] std::optional<std::string> objection_to_name(std::string_view path);

}  // namespace tdsl::frontend
