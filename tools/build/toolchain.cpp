#include "tools/build/toolchain.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tdsl::codegen {

namespace {

std::string trimmed(const std::string& s) {
  const std::size_t first = s.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string> words(const std::string& s) {
  std::istringstream in(s);
  std::vector<std::string> result;
  for (std::string w; in >> w;) result.push_back(w);
  return result;
}

std::string with_prefix(std::string s, const std::string& prefix) {
  const std::string variable = "${PREFIX}";
  for (std::size_t at = s.find(variable); at != std::string::npos; at = s.find(variable, at + prefix.size())) {
    s.replace(at, variable.size(), prefix);
  }
  return s;
}

void set(Toolchain& t, const std::string& key, const std::string& value) {
  if (key == "compiler") t.compiler = value;
  if (key == "compile_flags") t.compile_flags = words(value);
  if (key == "warning_flags") t.warning_flags = words(value);
  if (key == "precompiled") t.precompiled = words(value);
  if (key == "include_flags") t.include_flags = words(value);
  if (key == "native") t.native = value == "on";
  if (key == "native_flags") t.native_flags = words(value);
  if (key == "linkers") t.linkers = words(value);
  if (key == "link_flags") t.link_flags = words(value);
  if (key == "libraries") t.libraries = words(value);
  if (key == "mpiexec") t.mpiexec = value;
  if (key == "sanitize") t.sanitize = value;
}

bool is_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && ::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

std::string installed_linker(const Toolchain& toolchain) {
  for (const std::string& linker : toolchain.linkers) {
    if (is_in_path("ld." + linker)) return linker;
  }
  return "";
}

std::string find_prefix() {
  // The only environment variable for the location of TDSL.
  if (const char* home = std::getenv("TDSL_HOME"); home != nullptr && *home != '\0') return home;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    throw ToolchainError(
        "cannot find where tdslc is installed; set TDSL_HOME to the directory with lib/tdsl/toolchain.conf");
  return self.parent_path().parent_path().string();
}

Toolchain parse_toolchain(const std::string& text, const std::string& prefix, const std::string& path) {
  Toolchain t;
  t.prefix = prefix;
  t.configuration = path;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) throw ToolchainError(fmt::format("{}:{}: expected `key = value`", path, number));
    set(t, trimmed(line.substr(0, equals)), with_prefix(trimmed(line.substr(equals + 1)), prefix));
  }
  if (t.compiler.empty()) throw ToolchainError(path + ": names no compiler");
  return t;
}

Toolchain read_toolchain(const std::string& prefix) {
  const std::string path = prefix + "/lib/tdsl/toolchain.conf";
  std::ifstream in(path);
  if (!in) {
    throw ToolchainError(path + " is missing: set TDSL_HOME to the directory of the installation, or build TDSL again");
  }
  std::stringstream text;
  text << in.rdbuf();
  return parse_toolchain(text.str(), prefix, path);
}

}  // namespace tdsl::codegen
