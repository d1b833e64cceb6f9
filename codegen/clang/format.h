#pragma once

#include <string>

namespace tdsl::codegen {

/// C++ source formatted in the project's style (clang-format, Google style, 120 columns). Comments are not reflowed.
/// Returns the source unchanged if it cannot be parsed.
[[nodiscard]] std::string formatted(const std::string& source);

}  // namespace tdsl::codegen
