#pragma once

#include <functional>
#include <string>

#include "tools/build/compile.h"
#include "tools/tdslc/build_times.h"
#include "tools/tdslc/command_line.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

/// Compiles line.program to an executable in the build cache. Prints diagnostics, except that `run` omits warnings for
/// a cached executable; throws the exceptions of the phases.
[[nodiscard]] codegen::CompiledProgram build_program(const CommandLine& line, const codegen::Toolchain& toolchain,
                                                     BuildTimes* times = nullptr);
/// The same for a lowered program; `before` is called before anything is compiled.
[[nodiscard]] codegen::CompiledProgram compile_lowered(const CommandLine& line, const codegen::Toolchain& toolchain,
                                                       const Front& front, const codegen::OperationProgram& operations,
                                                       std::function<void()> before = {}, BuildTimes* times = nullptr);

/// `build --library`: writes the library, its header, its Python module and, with --fortran, its Fortran module next to
/// each other.
void build_library(const CommandLine& line, const codegen::Toolchain& toolchain);

/// `text` with `by` in place of every `what`.
[[nodiscard]] std::string replaced(std::string text, const std::string& what, const std::string& by);

}  // namespace tdsl::tools
