#include "codegen/plugin/clang.h"

#include <dlfcn.h>

#include <cstdlib>

namespace tdsl::codegen {

namespace {

constexpr const char* kClangLibrary = "libtdsl_clang.so";

struct Plugin {
  const ClangFunctions* functions = nullptr;
  std::string problem;  ///< why there are none
};

/// In $TDSL_HOME, or where the RUNPATH of this executable leads. It stays loaded: Clang's libraries cannot be unloaded.
Plugin load() {
  const char* home = std::getenv("TDSL_HOME");
  const std::string path =
      home != nullptr && *home != '\0' ? std::string(home) + "/lib/tdsl/" + kClangLibrary : std::string(kClangLibrary);
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {nullptr, ::dlerror()};
  const auto entry = reinterpret_cast<ClangEntry*>(::dlsym(library, kClangEntry));
  if (entry == nullptr) return {nullptr, path + " belongs to another version of tdslc"};
  return {entry(), ""};
}

const Plugin& plugin() {
  static const Plugin loaded = load();
  return loaded;
}

}  // namespace

std::string formatted(const std::string& source) {
  const ClangFunctions* const functions = plugin().functions;
  return functions == nullptr ? source : functions->formatted(source);
}

ir::HeaderFacts read_header(const std::string& path, const std::vector<ir::ForeignDeclaration>& declarations,
                            const std::vector<std::string>& flags, HeaderNames* names) {
  if (const ClangFunctions* const functions = plugin().functions)
    return functions->read_header(path, declarations, flags, names);
  ir::HeaderFacts facts;
  facts.problems.emplace_back();
  facts.problems.back().message = "C++ headers are read by " + std::string(kClangLibrary) +
                                  ", which cannot be loaded (" + plugin().problem +
                                  "); on Debian: apt install tdsl-extern";
  return facts;
}

}  // namespace tdsl::codegen
