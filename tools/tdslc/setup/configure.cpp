#include <fmt/format.h>

#include <chrono>

#include "tools/build/precompiled.h"
#include "tools/build/toolchain.h"
#include "tools/tdslc/commands.h"

namespace tdsl::tools {

int configure(const CommandLine& line) {
  const codegen::Toolchain toolchain = codegen::read_toolchain(codegen::find_prefix());
  const auto start = std::chrono::steady_clock::now();
  const codegen::Precompiled headers = codegen::precompile(toolchain, line.output);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (headers.folder.empty()) {
    fmt::print("{} precompiles no headers: programs are compiled without\n", toolchain.compiler);
  } else if (headers.made) {
    fmt::print("precompiled headers: {}, made in {:.1f} s\n", headers.folder, seconds.count());
  } else {
    fmt::print("precompiled headers: {}\n", headers.folder);
  }
  return 0;
}

}  // namespace tdsl::tools
