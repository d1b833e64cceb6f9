#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

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

/// What determines the time that emitted code takes to compile.
struct EmitCounts {
  std::size_t kernels = 0;   ///< functions that compute
  std::size_t versions = 0;  ///< the same, each as often as it is compiled: for every vector width
  std::size_t units = 1;     ///< source files
  std::size_t source_bytes = 0;
};

/// The program as one C++20 source file against runtime/emitted.h.
[[nodiscard]] std::string emit(const OperationProgram& program, const EmitOptions& options,
                               EmitCounts* counts = nullptr);

/// The same as up to `jobs` source files that are compiled at the same time, if it is long. The first has main(); it is
/// the only one of a library or a program with C++ functions.
[[nodiscard]] std::vector<std::string> emit_units(const OperationProgram& program, const EmitOptions& options, int jobs,
                                                  EmitCounts* counts = nullptr);

}  // namespace tdsl::codegen
