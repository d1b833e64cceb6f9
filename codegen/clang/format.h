#pragma once

#include <string>

namespace tdsl::codegen {

/// `formatted` of codegen/plugin/clang.h.
[[nodiscard]] std::string clang_formatted(const std::string& source);

}  // namespace tdsl::codegen
