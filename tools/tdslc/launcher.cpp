#include "tools/tdslc/launcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

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

std::vector<std::string> launcher_command(const codegen::Toolchain& toolchain, std::int64_t ranks, bool elsewhere) {
  // Ranks are multi-threaded and may outnumber the cores, so the launcher must not limit slots or bind.
  default_variable("OMPI_MCA_rmaps_base_oversubscribe", "1");
  default_variable("OMPI_MCA_hwloc_base_binding_policy", "none");
  // Sufficient within a machine; searching for a fabric takes 0.2 s at every start.
  if (!elsewhere) default_variable("OMPI_MCA_pml", "ob1");
  if (::geteuid() == 0) {
    default_variable("OMPI_ALLOW_RUN_AS_ROOT", "1");
    default_variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  }
  return {toolchain.mpiexec.empty() ? "mpirun" : toolchain.mpiexec, "-q", toolchain.launcher_ranks,
          fmt::format("{}", ranks)};
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
