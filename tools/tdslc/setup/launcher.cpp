#include "tools/tdslc/setup/launcher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "runtime/base/environment.h"
#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_choice.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

void default_variable(const char* name, const char* value) { ::setenv(name, value, 0); }

bool other_hosts() {
  constexpr const char* kSigns[] = {"SLURM_JOB_ID",
                                    "PBS_JOBID",
                                    "LSB_JOBID",
                                    "PE_HOSTFILE",
                                    "COBALT_NODEFILE",
                                    "FLUX_URI",
                                    "OMPI_MCA_orte_default_hostfile",
                                    "PRTE_MCA_prte_default_hostfile"};
  return std::ranges::any_of(kSigns, [](const char* name) { return std::getenv(name) != nullptr; });
}

void refuse_absurd_start(std::int64_t ranks) {
  constexpr std::int64_t kMostRanksPerCore = 64;
  const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  if (other_hosts() || ranks <= kMostRanksPerCore * cores) return;
  throw UsageError(
      fmt::format("{} ranks are more than {} for each of the {} cores of this machine, which may become unusable; "
                  "--oversubscribe starts them all the same",
                  ranks, kMostRanksPerCore, cores));
}

namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The program that starts ranks of a family; empty: none is found.
std::string launcher_of(const rt::MpiFamily& family) {
  const std::string common = program_in_path("mpiexec");
  if (launcher_family(common) == family.name) return common;
  for (const char* const name : family.launchers) {
    if (std::string program = program_in_path(name); !program.empty()) return program;
  }
  if (!common.empty() && launcher_family(common).empty()) return common;
  return std::getenv("SLURM_JOB_ID") == nullptr ? "" : program_in_path("srun");
}

/// The family of the ranks to start, and why; an empty name: any.
RankLauncher chosen_family(const rt::Environment& environment) {
  rt::MpiFacts facts = rt::mpi_facts(environment);
  facts.loaded.clear();  // another process will use MPI
  const std::string common = launcher_family(program_in_path("mpiexec"));
  if (environment.mpi == "none") throw UsageError("TDSL_MPI=none: several ranks need an MPI library");
  const bool usable =
      std::ranges::any_of(facts.shims, [&](const rt::MpiShim& shim) { return shim.family == common && shim.usable(); });
  facts.launcher = usable && environment.mpi.empty() && facts.site.empty() ? common : "";
  const rt::MpiChoice choice = rt::choose_mpi(facts);
  if (facts.launcher.empty()) return {"", choice.family, choice.reason};
  return {"", common, "mpiexec in PATH belongs to it"};
}

}  // namespace

std::string program_in_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0 && !std::filesystem::is_directory(file)) return file;
  }
  return {};
}

std::string launcher_family(const std::string& program) {
  std::error_code error;
  const std::string name = std::filesystem::weakly_canonical(program, error).filename().string();
  if (contains(name, "hydra") || contains(name, "mpich")) return "mpich";
  return contains(name, "openmpi") || contains(name, "orterun") || contains(name, "prterun") ? "openmpi" : "";
}

RankLauncher rank_launcher(const codegen::Toolchain& toolchain) {
  if (!toolchain.mpiexec.empty())
    return {toolchain.mpiexec, launcher_family(toolchain.mpiexec), "mpiexec of " + toolchain.configuration};
  RankLauncher found;
  try {
    found = chosen_family(rt::read_environment());
  } catch (const rt::RunError& error) { throw UsageError(error.what()); }
  for (const rt::MpiFamily& family : rt::mpi_families()) {
    if (family.name != found.family) continue;
    found.program = launcher_of(family);
    if (found.program.empty())
      throw UsageError(fmt::format("{}: no launcher of {} is found ({})", found.reason, family.title,
                                   fmt::join(family.launchers, ", ")));
    return found;
  }
  found.program = program_in_path("mpiexec");
  if (found.program.empty()) throw UsageError(found.reason + ": no mpiexec is found in PATH");
  return found;
}

std::vector<std::string> launcher_command(const codegen::Toolchain& toolchain, std::int64_t ranks, bool elsewhere) {
  const RankLauncher launcher = rank_launcher(toolchain);
  if (launcher.program.ends_with("/srun")) return {launcher.program, "-Q", "-n", fmt::format("{}", ranks)};
  if (launcher.family == "mpich") return {launcher.program, "-n", fmt::format("{}", ranks)};
  // Ranks are multi-threaded and may outnumber the cores, so the launcher must not limit slots or bind.
  default_variable("OMPI_MCA_rmaps_base_oversubscribe", "1");
  default_variable("OMPI_MCA_hwloc_base_binding_policy", "none");
  // Sufficient within a machine; searching for a fabric takes 0.2 s at every start.
  if (!elsewhere) default_variable("OMPI_MCA_pml", "ob1");
  if (::geteuid() == 0) {
    default_variable("OMPI_ALLOW_RUN_AS_ROOT", "1");
    default_variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  }
  return {launcher.program, "-q", "-n", fmt::format("{}", ranks)};
}

std::vector<std::string> session_folders(bool elsewhere) {
  if (elsewhere) return {"", ""};
  const char* base = std::getenv("TMPDIR");
  return {(base != nullptr && *base != '\0' ? std::string(base) : "/tmp") + "/tdsl-run-", "/dev/shm/tdsl-run-"};
}

const std::string& signs_folder(const codegen::WorkFolder& session) {
  return session.path(session.path(1).empty() ? 0 : 1);
}

std::vector<std::pair<std::string, std::string>> session_variables(const codegen::WorkFolder& session) {
  std::vector<std::pair<std::string, std::string>> variables;
  const auto add = [&](const char* name, const std::string& value, bool always) {
    if (!value.empty() && (always || std::getenv(name) == nullptr)) variables.emplace_back(name, value);
  };
  add("OMPI_MCA_orte_tmpdir_base", session.path(0), false);
  add("OMPI_MCA_btl_vader_backing_directory", session.path(1), false);
  add("TDSL_SESSION", signs_folder(session), true);
  return variables;
}

}  // namespace tdsl::tools
