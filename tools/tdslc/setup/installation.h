#pragma once

#include <string>
#include <vector>

namespace tdsl::tools {

/// A part that programs need, or that helps; `doctor` prints a line for each.
struct InstalledPart {
  std::string what;
  bool good = false;
  std::string detail{};
  std::string repair{};  ///< the command that installs or repairs it; empty: there is none
  bool needed = true;    ///< if not good, the exit code is 1
};

/// Toolchain, compiler, launcher, libraries and headers of the prefix; the linker, the precompiled header, Python,
/// editors, and the build cache. Runs the compiler, the launcher and Python.
[[nodiscard]] std::vector<InstalledPart> installed_parts();

/// True if the build cache, in which `doctor` writes the machine constants, can be used.
[[nodiscard]] bool has_cache(const std::vector<InstalledPart>& parts);

/// `ok   linker         lld 14.0`; a missing part ends in its repair command.
[[nodiscard]] std::string line_of(const InstalledPart& part);

}  // namespace tdsl::tools
