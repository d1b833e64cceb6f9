#pragma once

#include <string>

#include "tools/build/toolchain.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

/// Writes a source tree that builds the program without TDSL: the emitted file, the runtime, and build files. The
/// folder must be new or empty; on failure it is unchanged. Throws UsageError, codegen::OutputError.
void write_project(const CommandLine& line, const Front& front, const std::string& emitted,
                   const codegen::Toolchain& toolchain);

}  // namespace tdsl::tools
