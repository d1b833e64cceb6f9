#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/build/toolchain.h"

namespace tdsl::codegen {

/// The C++ compiler rejected emitted code or could not be run (exit code 4 of tdslc).
class CompilerFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct CompileRequest {
  std::string source;   ///< the emitted program
  std::string name;     ///< of the program, for file names
  bool native = false;  ///< tie the executable to this machine's CPU
  bool use_cache = true;
  std::string include_folder =
      {};  ///< where the headers that the source includes by relative names are; empty: nowhere
  std::vector<std::string> headers = {};  ///< the user's files that it includes: their content is a part of the key
  bool library = false;                   ///< a shared library with the runtime in it, which shows nothing of that
  bool shared_object = false;             ///< instead of an executable: compiled and linked without the runtime
  std::function<void()> before =
      {};  ///< called before the compiler starts, and not where the executable is in the cache
};

/// An executable for the source, compiled and linked now or found unchanged in the cache (`cache.h`). The key is a hash
/// of the source, the toolchain, the compiler and the runtime's libraries. Safe against others building the same
/// program at the same time. Throws CompilerFailure.
struct CompiledProgram {
  std::string path;     ///< of the executable, inside the cache
  bool cached = false;  ///< nothing had to be compiled
};
[[nodiscard]] CompiledProgram compile_program(const Toolchain& toolchain, const CompileRequest& request);

/// Copies an executable to `target` by way of an OutputFile. Throws OutputError.
void install_executable(const std::string& path, const std::string& target);

}  // namespace tdsl::codegen
