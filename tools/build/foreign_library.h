#pragma once

#include <string>
#include <vector>

#include "ir/graph/foreign.h"
#include "tools/build/toolchain.h"

namespace tdsl::codegen {

struct ForeignLibrary {
  std::string name;  ///< for file names
  std::vector<ir::ForeignRef> functions;
  std::string include_folder;  ///< see CompileRequest
  std::vector<std::string> headers;
  bool use_cache = true;
};

/// Compiles the functions with the same flags as the emitted program, loads them into this process, and sets their
/// entries. They stay loaded as long as one of them exists. Throws CompilerFailure.
void load_foreign_library(const Toolchain& toolchain, const ForeignLibrary& library);

/// Its C++ source: one entry per function.
[[nodiscard]] std::string foreign_library_source(const std::vector<ir::ForeignRef>& functions);

}  // namespace tdsl::codegen
