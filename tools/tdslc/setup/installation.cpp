#include "tools/tdslc/setup/installation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "tools/build/cache.h"
#include "tools/build/compile.h"
#include "tools/build/precompiled.h"
#include "tools/build/process.h"
#include "tools/build/toolchain.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/job/text.h"
#include "tools/tdslc/setup/launcher.h"

namespace tdsl::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* kCacheName = "build cache";

std::string text_of_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// First line of the command's output; empty if it does not run.
std::string first_line_of(const std::vector<std::string>& command) {
  const codegen::ProcessResult result = codegen::run_process({.command = command, .capture = true});
  return result.exit_code == 0 ? result.output.substr(0, result.output.find('\n')) : "";
}

/// The program's path in $PATH; empty if it is not there.
std::string found_in_path(const std::string& program) {
  const std::string path = text_of_variable("PATH");
  for (const std::string_view folder : parts_of(path, ':')) {
    const std::string candidate = std::string(folder) + "/" + program;
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

InstalledPart tool(const std::string& what, const std::string& program, const std::string& repair) {
  const std::string version = program.empty() ? "" : first_line_of({program, "--version"});
  if (!version.empty()) return {what, true, program + ": " + version};
  return {what, false, program.empty() ? "not configured" : program + " does not run", repair};
}

/// What starts the ranks of `tdslc run -n`, and the MPI family it belongs to.
InstalledPart mpi_launcher(const codegen::Toolchain& toolchain) {
  const std::string what = "MPI launcher", repair = "apt-get install openmpi-bin";
  try {
    const RankLauncher launcher = rank_launcher(toolchain);
    InstalledPart found = tool(what, launcher.program, repair);
    if (!launcher.reason.empty()) found.detail += " (" + launcher.reason + ")";
    return found;
  } catch (const UsageError& error) { return {what, false, error.what(), repair}; }
}

InstalledPart linker(const codegen::Toolchain& toolchain) {
  const std::string fast = codegen::installed_linker(toolchain);
  if (fast.empty()) return {"fast linker", false, "neither lld nor gold is installed", "apt-get install lld", false};
  return {"fast linker", true, fast};
}

InstalledPart precompiled_header(const codegen::Toolchain& toolchain) {
  const std::string what = "header", found = codegen::find_precompiled(toolchain);
  if (!found.empty()) return {what, true, "precompiled, in " + found};
  return {what, false, "not precompiled: builds take 0.6 s longer", "tdslc --configure", false};
}

InstalledPart python() {
  const std::string given = text_of_variable("TDSL_PYTHON");
  const std::string interpreter = given.empty() ? "python3" : given;
  const std::string version = first_line_of(
      {interpreter, "-c", "import sys, numpy; print('Python', sys.version.split()[0] + ', NumPy', numpy.__version__)"});
  if (!version.empty()) return {"Python", true, version};
  return {"Python", false, interpreter + " or its NumPy is missing: no `tdslc import`",
          "apt-get install python3 python3-numpy", false};
}

/// Whether an installed editor has TDSL's syntax.
InstalledPart editor(const std::string& prefix) {
  const std::string home = text_of_variable("HOME"), config = text_of_variable("XDG_CONFIG_HOME");
  struct Editor {
    const char* program;
    std::string folder, marker, source;
  };
  const std::string neovim = (config.empty() ? home + "/.config" : config) + "/nvim";
  const Editor editors[] = {{"nvim", neovim, "/syntax/tdsl.vim", "vim"},
                            {"vim", home + "/.vim", "/syntax/tdsl.vim", "vim"},
                            {"code", home + "/.vscode/extensions/tdsl", "/package.json", "vscode"}};
  for (const Editor& e : editors) {
    if (found_in_path(e.program).empty()) continue;
    if (::access((e.folder + e.marker).c_str(), R_OK) == 0)
      return {"editor", true, fmt::format("{}, with TDSL's syntax", e.program)};
    return {"editor", false, fmt::format("{} does not know TDSL", e.program),
            fmt::format("mkdir -p {0} && cp -r {1}/. {0}/", shell_quoted(e.folder),
                        shell_quoted(prefix + "/share/tdsl/editors/" + e.source)),
            false};
  }
  return {"editor", true, "none of nvim, vim and code is here"};
}

/// Total size of the files below the folder.
std::uintmax_t bytes_below(const std::string& folder) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    const std::uintmax_t size = entry->is_regular_file(unknown) ? entry->file_size(unknown) : 0;
    if (!unknown) bytes += size;
  }
  return bytes;
}

InstalledPart build_cache() {
  const std::string cache = codegen::cache_directory();
  if (cache.empty()) return {kCacheName, false, "neither XDG_CACHE_HOME nor HOME is set", "export HOME=DIR"};
  try {
    if (!codegen::make_private_folder(cache))
      return {kCacheName, false, "cannot make " + cache, "export XDG_CACHE_HOME=DIR"};
  } catch (const codegen::CompilerFailure& e) { return {kCacheName, false, e.what(), "export XDG_CACHE_HOME=DIR"}; }
  return {kCacheName, true,
          fmt::format("{} in {}; it may be emptied: rm -r {}/*", human_bytes(static_cast<double>(bytes_below(cache))),
                      cache, shell_quoted(cache))};
}

/// The parts that toolchain.conf names.
void add_toolchain(std::vector<InstalledPart>& parts, const codegen::Toolchain& toolchain) {
  constexpr const char* kPackages = "tools/install_packages.sh build";
  parts.push_back({"toolchain", true, toolchain.configuration});
  parts.push_back(tool("C++ compiler", toolchain.compiler, "apt-get install g++"));
  parts.push_back(mpi_launcher(toolchain));
  for (const std::string& library : toolchain.libraries) {
    if (library.starts_with('-')) continue;
    parts.push_back({"library", ::access(library.c_str(), R_OK) == 0, library, kPackages});
  }
  const std::string header = toolchain.prefix + "/include/tdsl/runtime/emitted.h";
  parts.push_back({"headers", ::access(header.c_str(), R_OK) == 0, header, "cmake --install build/release"});
  parts.push_back(precompiled_header(toolchain));
  parts.push_back(linker(toolchain));
}

}  // namespace

std::vector<InstalledPart> installed_parts() {
  std::vector<InstalledPart> parts;
  const std::string prefix = codegen::find_prefix();
  try {
    add_toolchain(parts, codegen::read_toolchain(prefix));
  } catch (const codegen::ToolchainError& e) {
    parts.push_back({"toolchain", false, e.what(), "cmake --build build/release"});
  }
  parts.push_back(python());
  parts.push_back(editor(prefix));
  parts.push_back(build_cache());
  return parts;
}

bool has_cache(const std::vector<InstalledPart>& parts) {
  for (const InstalledPart& part : parts) {
    if (part.what == kCacheName) return part.good;
  }
  return false;
}

std::string line_of(const InstalledPart& part) {
  const char* const mark = part.good ? "ok" : part.needed ? "BAD" : "-";
  const std::string repair = part.good || part.repair.empty() ? "" : ": " + part.repair;
  return fmt::format("{:<4} {:<14} {}{}\n", mark, part.what, part.detail, repair);
}

}  // namespace tdsl::tools
