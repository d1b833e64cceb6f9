#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace tdsl::codegen {

/// Compilation of emitted programs: the contents of lib/tdsl/toolchain.conf, which explains its keys.
struct Toolchain {
  std::string prefix;         ///< the directory with bin/ and lib/tdsl/
  std::string configuration;  ///< path of toolchain.conf
  std::string compiler;
  std::vector<std::string> compile_flags;
  std::vector<std::string> warning_flags;
  std::vector<std::string> precompiled;  ///< folders of precompiled headers (precompiled.h)
  std::vector<std::string> include_flags;
  std::vector<std::string> native_flags;
  std::vector<std::string> linkers;  ///< preferred linkers, as for -fuse-ld
  std::vector<std::string> link_flags;
  std::vector<std::string> libraries;
  bool native = false;
  std::string mpiexec;  ///< empty: the launcher of the chosen MPI
  std::string sanitize;
};

/// The installation is incomplete or its configuration cannot be read.
class ToolchainError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The first of the preferred linkers that is installed; empty: none, the compiler's own is used.
[[nodiscard]] std::string installed_linker(const Toolchain& toolchain);

/// The prefix this process runs from: $TDSL_HOME, or the parent of the directory of /proc/self/exe.
[[nodiscard]] std::string find_prefix();
/// Reads PREFIX/lib/tdsl/toolchain.conf. Throws ToolchainError.
[[nodiscard]] Toolchain read_toolchain(const std::string& prefix);
/// The same from text; `path` is for messages.
[[nodiscard]] Toolchain parse_toolchain(const std::string& text, const std::string& prefix, const std::string& path);

}  // namespace tdsl::codegen
