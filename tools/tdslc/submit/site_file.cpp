#include "tools/tdslc/submit/site_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "runtime/check.h"
#include "runtime/io/text_file.h"
#include "runtime/message_id.h"
#include "tools/build/output_file.h"
#include "tools/build/process.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/job/text.h"
#include "tools/tdslc/streams.h"

namespace tdsl::tools {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_there(const std::string& path) { return !path.empty() && ::access(path.c_str(), F_OK) == 0; }

/// Output of the command; empty if it fails and `may_fail` is set.
std::string printed_by(const std::vector<std::string>& command, bool may_fail) {
  const codegen::ProcessResult result = codegen::run_process({.command = command, .capture = true});
  if (result.exit_code == 0) return result.output;
  if (may_fail) return {};
  throw rt::RunError(
      rt::with_id(fmt::format("{} does not answer: {}", command.front(),
                              result.output.empty() ? "is Slurm installed here?" : std::string(trimmed(result.output))),
                  "batch-system"));
}

Site proposed(const std::string& partition) {
  const std::string nodes = printed_by({"sinfo", "-h", "-e", "-o", kSinfoFormat}, false);
  const std::string plugins = printed_by({"srun", "--mpi=list"}, true);
  return propose_site(nodes, plugins, printed_by({"scontrol", "show", "config"}, true), partition);
}

}  // namespace

std::string site_path(const CommandLine& line) {
  if (!line.job.site.empty()) return line.job.site;
  if (std::string path = variable("TDSL_SITE"); !path.empty()) return path;
  if (const std::string config = variable("XDG_CONFIG_HOME"); !config.empty()) return config + "/tdsl/site.conf";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.config/tdsl/site.conf";
}

Site site_of(const CommandLine& line, const codegen::Toolchain& toolchain) {
  std::string path = site_path(line);
  const bool asked = !line.job.site.empty() || !variable("TDSL_SITE").empty();
  if (!is_there(path) && !asked && is_there(toolchain.prefix + "/lib/tdsl/site.conf"))
    path = toolchain.prefix + "/lib/tdsl/site.conf";
  if (!is_there(path))
    throw UsageError(fmt::format("there is no profile of the site: `tdslc doctor --site -o {}` proposes one",
                                 path.empty() ? "FILE" : shell_quoted(path)));
  return parse_site(rt::read_text_file(path), path);
}

int doctor_site(const CommandLine& line) {
  const std::string path = site_path(line);
  if (!line.output.empty()) {
    const std::filesystem::path folder = std::filesystem::path(line.output).parent_path();
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);  // an error shows up when writing
    codegen::write_text(line.output, site_text(proposed("")));
    return 0;
  }
  if (!is_there(path)) {
    fmt::print("{}", site_text(proposed("")));
    print_error(fmt::format("`tdslc doctor --site -o {}` keeps this for `tdslc submit`\n",
                            path.empty() ? "FILE" : shell_quoted(path)));
    return 0;
  }
  const Site file = parse_site(rt::read_text_file(path), path);
  const std::vector<std::string> differences = site_differences(file, proposed(file.partition));
  for (const std::string& difference : differences) fmt::print("{}\n", difference);
  fmt::print(
      "{}{}\n", path,
      differences.empty() ? " agrees with the cluster" : " differs from the cluster as listed; this may be intended");
  return 0;
}

}  // namespace tdsl::tools
