#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/foreign_header.h"

namespace tdsl::codegen {

/// Names that a header gives to files after it and takes from files before it.
struct HeaderNames {
  std::map<std::string, ir::HeaderProblem>
      macros;  ///< that the user's files leave defined, but for header guards: the place of each, without a message
  std::map<std::string, std::set<std::string>> words;  ///< identifiers of each of the user's files
};

/// Reads the C++ header at `path` with Clang: looks the declared functions up in the global namespace, compares their
/// types, and finds what they do. `flags` are those of the compiler that matter (`-I…`, `-std=…`, `-D…`).
///
/// A function may compute with its parameters, locals, constants, `<cmath>` and whatever else it can see the body of.
/// It may not write or read what outlives the call, throw, allocate (but by std::vector), do input or output, or call
/// what has no body here. Outside of its functions a header may do nothing: see header_start.h. `names`: where to put
/// names for a comparison with other headers, or null.
[[nodiscard]] ir::HeaderFacts read_header(const std::string& path,
                                          const std::vector<ir::ForeignDeclaration>& declarations,
                                          const std::vector<std::string>& flags, HeaderNames* names = nullptr);

}  // namespace tdsl::codegen
