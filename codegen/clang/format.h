#pragma once

#include <string>

namespace tdsl::codegen {

/// C++ source laid out in the project's style (clang-format, Google style, 120 columns). Comments keep their lines. The
/// text itself if it cannot be parsed.
[[nodiscard]] std::string formatted(const std::string& source);

}  // namespace tdsl::codegen
