#pragma once

#include <string>

#include "tools/build/toolchain.h"

namespace tdsl::codegen {

// Precompiled headers of emitted programs (g++ only): FOLDER/KEY/runtime/emitted.h.gch, about 100 MB. Parsing the
// headers takes longer than compiling a small program. The key is a hash of the compiler, its flags and the headers, so
// that a file that does not match is not found.

/// The name of the folder for this toolchain.
[[nodiscard]] std::string precompiled_key(const Toolchain& toolchain);
/// FOLDER/KEY in the first of the toolchain's folders that has it, or in the user's cache; empty: there is none, and
/// programs are compiled without.
[[nodiscard]] std::string find_precompiled(const Toolchain& toolchain);

/// True if none of the folders exists: a new installation by hand, such as an unpacked tarball.
[[nodiscard]] bool is_unconfigured(const Toolchain& toolchain);

struct Precompiled {
  std::string folder;  ///< FOLDER/KEY; empty: the compiler is not g++
  bool made = false;   ///< false: it was there
};
/// Compiles the headers into a folder, and removes those of other keys there. `into`: empty for the first of the
/// toolchain's folders that can be written, otherwise the user's cache. Throws CompilerFailure.
[[nodiscard]] Precompiled precompile(const Toolchain& toolchain, const std::string& into);

}  // namespace tdsl::codegen
