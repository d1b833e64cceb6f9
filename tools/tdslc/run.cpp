#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "codegen/compile.h"
#include "tools/tdslc/build_program.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

/// Sets a variable of this process (and so of the launcher) unless the user did.
void default_variable(const char* name, const char* value) { ::setenv(name, value, 0); }

[[noreturn]] void become(std::vector<std::string> command) {
  std::vector<char*> argv;
  for (std::string& s : command) argv.push_back(s.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  throw codegen::ToolchainError(fmt::format("cannot start {}: {}", command.front(), std::strerror(errno)));
}

}  // namespace

int run(const CommandLine& line) {
  const codegen::Toolchain toolchain = codegen::read_toolchain(codegen::find_prefix());
  const codegen::CompiledProgram program = build_program(line, toolchain);
  std::vector<std::string> command;
  if (line.ranks.value_or(1) > 1) {
    // Ranks use several threads and may be more than the cores: binding and slots are not the launcher's to decide.
    default_variable("OMPI_MCA_rmaps_base_oversubscribe", "1");
    default_variable("OMPI_MCA_hwloc_base_binding_policy", "none");
    if (::geteuid() == 0) {
      default_variable("OMPI_ALLOW_RUN_AS_ROOT", "1");
      default_variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    command = {toolchain.mpiexec.empty() ? "mpirun" : toolchain.mpiexec, "-q", toolchain.launcher_ranks, fmt::format("{}", *line.ranks)};
  }
  command.push_back(program.path);
  command.insert(command.end(), line.program_arguments.begin(), line.program_arguments.end());
  std::fflush(nullptr);
  become(std::move(command));
}

}  // namespace tdsl::tools
