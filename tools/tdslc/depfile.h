#pragma once

#include <string>

#include "tools/build/toolchain.h"
#include "tools/tdslc/command_line.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

/// Writes line.depfile, if given: a rule of make that names the files that `target` was compiled from: the program,
/// the files that it imports, headers of `extern`, and the runtime of the installation. Throws codegen::OutputError.
void write_depfile(const CommandLine& line, const Front& front, const codegen::Toolchain& toolchain,
                   const std::string& target);

}  // namespace tdsl::tools
