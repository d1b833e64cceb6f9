#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "runtime/base/environment.h"
#include "runtime/engine/mpi/mpi_choice.h"
#include "tools/build/process.h"
#include "tools/build/toolchain.h"
#include "tools/build/work_folder.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/setup/launcher.h"

namespace tdsl::tools {

namespace {

namespace fs = std::filesystem;

/// The value of a line `key = value`; empty without it.
std::string value_in(const std::string& text, const std::string& key) {
  const std::string start = key + " = ";
  std::size_t at = text.starts_with(start) ? 0 : text.find("\n" + start);
  if (at == std::string::npos) return {};
  at = text.find(start, at) + start.size();
  return text.substr(at, text.find('\n', at) - at);
}

/// Output of a process that opens this MPI: tdslc itself opens none.
codegen::ProcessResult opened_by_helper(const std::string& prefix, const std::string& mpi) {
  return codegen::run_process(
      {.command = {prefix + "/lib/tdsl/tdsl_links", "--name"}, .environment = {{"TDSL_MPI", mpi}}, .capture = true});
}

/// A family as `tdslc mpi` shows it.
struct Shown {
  std::string family, name, shim, library, launcher;
};

std::string pattern_text(const rt::MpiFamily& family) { return fmt::format("{}", fmt::join(family.libraries, ", ")); }

const rt::MpiFamily* family_named(const std::string& name) {
  for (const rt::MpiFamily& family : rt::mpi_families()) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

std::vector<Shown> shown_families(const codegen::Toolchain& toolchain) {
  std::vector<Shown> all;
  for (const rt::MpiShim& shim : rt::mpi_facts(rt::read_environment()).shims) {
    Shown shown{shim.family, "", shim.file, shim.library, ""};
    const rt::MpiFamily* const family = family_named(shim.family);
    if (shim.usable()) {
      const codegen::ProcessResult result = opened_by_helper(toolchain.prefix, shim.family);
      shown.name = result.exit_code == 0 ? value_in(result.output, "name") : "cannot be opened: " + result.output;
      if (shown.library.empty()) shown.library = value_in(result.output, "library");
    } else {
      shown.name = "no library is found" + (family == nullptr ? "" : " (" + pattern_text(*family) + ")");
    }
    for (const char* const program : family == nullptr ? std::vector<const char*>{} : family->launchers) {
      if (shown.launcher.empty()) shown.launcher = program_in_path(program);
    }
    all.push_back(std::move(shown));
  }
  return all;
}

void print_family(const Shown& shown) {
  const auto line = [](std::string_view what, const std::string& value) {
    if (!value.empty()) fmt::print("  {:<9} {}\n", what, value);
  };
  std::string name = shown.name;
  while (name.ends_with('\n')) name.pop_back();
  fmt::print("{}: {}\n", shown.family, name);
  line("library", shown.library);
  line("shim", shown.shim);
  line("launcher", shown.launcher);
}

int list_families(const CommandLine& line, const codegen::Toolchain& toolchain) {
  const std::vector<Shown> families = shown_families(toolchain);
  RankLauncher launcher;
  std::string trouble;
  try {
    launcher = rank_launcher(toolchain);
  } catch (const UsageError& error) { trouble = error.what(); }
  if (line.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Shown& f : families)
      all.push_back(
          {{"family", f.family}, {"name", f.name}, {"library", f.library}, {"shim", f.shim}, {"launcher", f.launcher}});
    const nlohmann::ordered_json answer = {{"families", all},
                                           {"chosen", launcher.family},
                                           {"launcher", launcher.program},
                                           {"reason", trouble.empty() ? launcher.reason : trouble}};
    fmt::print("{}\n", answer.dump(2));
    return trouble.empty() ? 0 : 1;
  }
  for (const Shown& shown : families) print_family(shown);
  if (families.empty()) fmt::print("no shim is found: `tdslc mpi --build --cc mpicc` makes one\n");
  if (!trouble.empty()) {
    fmt::print("`tdslc run -n` starts no ranks: {}\n", trouble);
    return 1;
  }
  fmt::print("`tdslc run -n` uses {}, started by {}: {}\n",
             launcher.family.empty() ? "the launcher's" : launcher.family, launcher.program, launcher.reason);
  fmt::print("other programs open the MPI of the launcher that starts them, and none without a launcher\n");
  return 0;
}

std::string user_shims() {
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') throw UsageError("mpi --build: HOME is not set");
  return std::string(home) + "/.local/lib/tdsl/mpi";
}

/// Compiles the shim with the MPI's compiler, which also links that MPI, and opens it before it is installed.
int build_shim(const CommandLine& line, const codegen::Toolchain& toolchain) {
  const std::string source = toolchain.prefix + "/share/tdsl/runtime/engine/mpi/mpi_shim.c";
  if (std::error_code error; !fs::exists(source, error))
    throw codegen::ToolchainError(source + " is missing: install TDSL again");
  const std::string folder = user_shims();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UsageError(fmt::format("mpi --build: cannot make {}: {}", folder, error.message()));
  const codegen::WorkFolder work({folder + "/build-"});
  if (work.path().empty()) throw UsageError("mpi --build: cannot write into " + folder);
  const std::string made = work.path() + "/libtdsl_mpi.so";
  const codegen::ProcessResult compiled = codegen::run_process(
      {.command = {line.mpi_compiler, "-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", source, "-o", made},
       .capture = true});
  if (compiled.exit_code != 0)
    throw UsageError(fmt::format("mpi --build: {} failed:\n{}", line.mpi_compiler, compiled.output));
  const codegen::ProcessResult opened = opened_by_helper(toolchain.prefix, made);
  const std::string family = value_in(opened.output, "family");
  if (opened.exit_code != 0 || family.empty())
    throw UsageError("mpi --build: the shim cannot be opened: " + opened.output);
  const std::string file = fmt::format("{}/libtdsl_mpi_{}.so", folder, family);
  fs::rename(made, file, error);
  if (error) throw UsageError(fmt::format("mpi --build: cannot write {}: {}", file, error.message()));
  fmt::print("{}: {}\n", file, value_in(opened.output, "name"));
  return 0;
}

}  // namespace

int mpi(const CommandLine& line) {
  const codegen::Toolchain toolchain = codegen::read_toolchain(codegen::find_prefix());
  return line.build_shim ? build_shim(line, toolchain) : list_families(line, toolchain);
}

}  // namespace tdsl::tools
