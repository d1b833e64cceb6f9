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

/// Compiles the functions as the program that is emitted compiles them, with the same flags, loads them into this
/// process, and sets their entries. They stay loaded while one of them is there. Throws CompilerFailure.
void load_foreign_library(const Toolchain& toolchain, const ForeignLibrary& library);

/// The C++ source of it: one entry per function.
[[nodiscard]] std::string foreign_library_source(const std::vector<ir::ForeignRef>& functions);

}  // namespace tdsl::codegen
