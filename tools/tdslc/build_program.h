#pragma once

#include <functional>

#include "tools/build/compile.h"
#include "tools/tdslc/command_line.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

/// From line.program to an executable in the build cache. Prints diagnostics, of `run` no warnings where the executable
/// is there already; throws what the phases throw.
[[nodiscard]] codegen::CompiledProgram build_program(const CommandLine& line, const codegen::Toolchain& toolchain);
/// The same of what has been lowered; `before` is called before anything is compiled.
[[nodiscard]] codegen::CompiledProgram compile_lowered(const CommandLine& line, const codegen::Toolchain& toolchain,
                                                       const Front& front, const codegen::FamilyProgram& families,
                                                       std::function<void()> before = {});

/// `build --library`: the library, its header and its Python module, beside each other.
void build_library(const CommandLine& line, const codegen::Toolchain& toolchain);

}  // namespace tdsl::tools
