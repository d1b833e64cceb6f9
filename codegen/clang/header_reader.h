#pragma once

#include <string>
#include <vector>

#include "ir/foreign_header.h"

namespace tdsl::codegen {

/// Reads the C++ header at `path` with Clang: looks the declared functions up in the global namespace, compares their types, and finds
/// what they do. `flags` are those of the compiler that matter (`-I…`, `-std=…`, `-D…`).
///
/// A function may compute with its parameters, locals, constants, `<cmath>` and whatever else it can see the body of. It may not
/// write or read what outlives the call, throw, allocate (but by std::vector), do input or output, or call what has no body here.
[[nodiscard]] ir::HeaderFacts read_header(const std::string& path, const std::vector<ir::ForeignDeclaration>& declarations, const std::vector<std::string>& flags);

}  // namespace tdsl::codegen
