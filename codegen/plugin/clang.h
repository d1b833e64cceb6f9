#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/foreign_header.h"

// The parts of the compiler that need Clang. They are in libtdsl_clang.so (codegen/clang), which is loaded at the first
// call, because Clang's libraries take 160 MB of disk and 30 ms of every start.

namespace tdsl::codegen {

/// Names by which a header affects, and is affected by, other headers of the same program.
struct HeaderNames {
  std::map<std::string, ir::HeaderProblem> macros;  ///< macros left defined by the user's files, except header guards:
                                                    ///< the location of each, without a message
  std::map<std::string, std::set<std::string>> words;  ///< identifiers of each of the user's files
};

/// C++ source formatted in the project's style (clang-format, Google style, 120 columns). Comments are not reflowed.
/// Returns the source unchanged if it cannot be parsed, or without libtdsl_clang.so.
[[nodiscard]] std::string formatted(const std::string& source);

/// Reads the C++ header at `path` with Clang: looks up the declared functions in the global namespace, compares their
/// types, and determines their effects. `flags` are the relevant compiler flags (`-I…`, `-std=…`, `-D…`).
///
/// A function may compute with its parameters, locals, constants, `<cmath>` and any function whose body is visible. It
/// must not read or write data that outlives the call, throw, allocate (except by std::vector), perform input or
/// output, or call functions without a visible body. Outside its functions a header must have no effects: see
/// codegen/clang/header_start.h. `names`: receives names for a comparison with other headers, or null. Without
/// libtdsl_clang.so the result is a problem that says how to install it.
[[nodiscard]] ir::HeaderFacts read_header(const std::string& path,
                                          const std::vector<ir::ForeignDeclaration>& declarations,
                                          const std::vector<std::string>& flags, HeaderNames* names = nullptr);

/// The functions of libtdsl_clang.so. Its only symbol, kClangEntry, is a ClangEntry. The number in the name counts
/// changes of this interface.
struct ClangFunctions {
  std::string (*formatted)(const std::string& source);
  ir::HeaderFacts (*read_header)(const std::string& path, const std::vector<ir::ForeignDeclaration>& declarations,
                                 const std::vector<std::string>& flags, HeaderNames* names);
};
using ClangEntry = const ClangFunctions*();
inline constexpr const char* kClangEntry = "tdsl_clang_1";

}  // namespace tdsl::codegen
