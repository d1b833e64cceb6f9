#pragma once

#include <functional>
#include <string>

#include "codegen/operations/program.h"

namespace tdsl::codegen {

struct EmitOptions {
  /// Line `line` (from 1) of source file `file`, for comments; may be empty.
  std::function<std::string(std::uint32_t file, std::uint32_t line)> source_line;
  std::string version = "tdslc";  ///< named in the head comment and in `--version` of the executable
  bool line_directives = false;   ///< `#line` back to the source, for debuggers
  std::string library;  ///< not empty: the file becomes a library of that name (runtime/library/library.h) instead of
                        ///< an executable
  std::string output_name = "program.cpp";  ///< what `#line` calls the emitted file itself
};

/// The program as one C++20 source file against runtime/emitted.h.
[[nodiscard]] std::string emit(const OperationProgram& program, const EmitOptions& options);

}  // namespace tdsl::codegen
