#pragma once

#include <string>
#include <string_view>

#include "codegen/nest/nest.h"

namespace tdsl::nest {

/// The text form of a nest; print(parse(t)) gives t back.
[[nodiscard]] std::string print(const Nest& nest);
/// Parses the text form. Throws std::runtime_error("line:column: message").
[[nodiscard]] Nest parse(std::string_view text);

/// The nest's variables as the values of a program, as its expressions require.
[[nodiscard]] ir::Program values_of(const Nest& nest);

}  // namespace tdsl::nest
