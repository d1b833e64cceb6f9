#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/foreign_header.h"

namespace tdsl::codegen {

/// Names by which a header affects, and is affected by, other headers of the same program.
struct HeaderNames {
  std::map<std::string, ir::HeaderProblem> macros;  ///< macros left defined by the user's files, except header guards:
                                                    ///< the location of each, without a message
  std::map<std::string, std::set<std::string>> words;  ///< identifiers of each of the user's files
};

/// Reads the C++ header at `path` with Clang: looks up the declared functions in the global namespace, compares their
/// types, and determines their effects. `flags` are the relevant compiler flags (`-I…`, `-std=…`, `-D…`).
///
/// A function may compute with its parameters, locals, constants, `<cmath>` and any function whose body is visible. It
/// must not read or write data that outlives the call, throw, allocate (except by std::vector), perform input or
/// output, or call functions without a visible body. Outside its functions a header must have no effects: see
/// header_start.h. `names`: receives names for a comparison with other headers, or null.
[[nodiscard]] ir::HeaderFacts read_header(const std::string& path,
                                          const std::vector<ir::ForeignDeclaration>& declarations,
                                          const std::vector<std::string>& flags, HeaderNames* names = nullptr);

}  // namespace tdsl::codegen
