#pragma once

#include <string>
#include <string_view>

#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// The text form of an operation program; print(parse(t)) gives t back. parse(print(p)) equals p up to source ranges of
/// expressions and values that no step mentions.
[[nodiscard]] std::string print(const OperationProgram& program);
/// Parses the text form. Throws std::runtime_error("line:column: message").
[[nodiscard]] OperationProgram parse_operations(std::string_view text);

}  // namespace tdsl::codegen
