#pragma once

#include "codegen/compile.h"
#include "tools/tdslc/command_line.h"

namespace tdsl::tools {

/// From line.program to an executable in the build cache. Prints diagnostics; throws what the phases throw.
[[nodiscard]] codegen::CompiledProgram build_program(const CommandLine& line, const codegen::Toolchain& toolchain);

}  // namespace tdsl::tools
