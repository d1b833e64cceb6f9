#pragma once

#include <string>

#include "ir/graph/graph.h"

namespace tdsl::tools {

/// The name of the Fortran module of a library.
[[nodiscard]] std::string fortran_module_name(const std::string& library);

/// The text of that module and of the one it uses: `text` (runtime/library/bridge.f90), where the marks @MODULE@,
/// @TYPE@ and those of arguments are replaced; the rest is the caller's. Throws UsageError for names that are too long.
[[nodiscard]] std::string fortran_module(const ir::Program& program, const std::string& library, std::string text);

}  // namespace tdsl::tools
