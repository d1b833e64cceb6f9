#pragma once

#include <cstddef>
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

/// A part of a build and the time it took.
struct BuildStep {
  std::string name;
  double seconds = 0;
  double cpu_seconds = 0;  ///< of this process, or of the processes started
};

/// Times and sizes of a build.
struct BuildRecord {
  std::vector<BuildStep> steps;
  std::size_t object_bytes = 0;  ///< of the compiled source files
};

struct CompileRequest {
  std::string source;                   ///< the emitted program
  std::vector<std::string> units = {};  ///< further source files of it, compiled at the same time
  std::string name;                     ///< of the program, for file names
  bool native = false;                  ///< tie the executable to this machine's CPU
  bool use_cache = true;
  std::string include_folder = {};        ///< where the source's relative includes are found; empty: no folder
  std::vector<std::string> headers = {};  ///< the user's files that it includes: their contents are part of the key
  bool library = false;                   ///< build a shared library that contains the runtime but does not export it
  bool shared_object = false;             ///< build a shared object without the runtime instead of an executable
  std::function<void()> before = {};      ///< called before the compiler starts; not called on a cache hit
  BuildRecord* record = nullptr;          ///< gets the compiler's and the linker's part
};

/// An executable for the source, compiled and linked now or found unchanged in the cache (`cache.h`). The key is a hash
/// of the source, the toolchain, the compiler and the runtime's libraries. Safe against concurrent builds of the same
/// program. Throws CompilerFailure.
struct CompiledProgram {
  std::string path;     ///< of the executable, inside the cache
  bool cached = false;  ///< found in the cache
};
[[nodiscard]] CompiledProgram compile_program(const Toolchain& toolchain, const CompileRequest& request);

/// Copies an executable to `target` through an OutputFile. Throws OutputError.
void install_executable(const std::string& path, const std::string& target);

}  // namespace tdsl::codegen
