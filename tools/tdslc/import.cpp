#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/build/toolchain.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/streams.h"

namespace tdsl::tools {

namespace {

std::string variable_or(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

/// The importer finds its modules, and this executable, in its environment.
void prepare_environment(const std::string& modules) {
  const std::string others = variable_or("PYTHONPATH", "");
  ::setenv("PYTHONPATH", (others.empty() ? modules : modules + ":" + others).c_str(), 1);
  ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);  // the prefix may belong to another user
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) ::setenv("TDSLC", self.c_str(), 1);
}

}  // namespace

int import_function(const CommandLine& line) {
  const std::string modules = codegen::find_prefix() + "/share/tdsl/python";
  if (std::error_code error; !std::filesystem::is_directory(modules, error))
    throw codegen::ToolchainError(
        fmt::format("the installation is incomplete: there is no {}; on Debian: apt install python3-tdsl", modules));
  prepare_environment(modules);
  std::vector<std::string> words = {variable_or("TDSL_PYTHON", "python3"), "-m", "tdsl.importer"};
  words.insert(words.end(), line.program_arguments.begin(), line.program_arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  static_cast<void>(flush_output());
  ::execvp(argv[0], argv.data());
  throw codegen::ToolchainError(
      fmt::format("cannot run {}: {}; apt install python3 python3-numpy, or name an interpreter in TDSL_PYTHON",
                  words.front(), std::strerror(errno)));
}

}  // namespace tdsl::tools
