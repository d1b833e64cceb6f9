#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/build/toolchain.h"
#include "tools/build/work_folder.h"

namespace tdsl::tools {

/// Sets an environment variable of this process, and so of the launcher, unless the user has set it.
void default_variable(const char* name, const char* value);

/// True if ranks may run on other machines: in a batch allocation, or with hosts given to Open MPI.
[[nodiscard]] bool other_hosts();

/// Throws UsageError if this many local ranks would make the machine unusable: more than 64 per core.
void refuse_absurd_start(std::int64_t ranks);

/// What starts ranks here.
struct RankLauncher {
  std::string program;
  std::string family;  ///< of MPI libraries (runtime/engine/mpi/mpi_choice.h); empty: not known
  std::string reason;
};
/// That of toolchain.conf, otherwise that of the MPI family chosen by TDSL_MPI, by the installation's site.conf, by
/// `mpiexec` in PATH, or as the only one installed. Throws UsageError.
[[nodiscard]] RankLauncher rank_launcher(const codegen::Toolchain& toolchain);
/// A program in PATH; empty: none.
[[nodiscard]] std::string program_in_path(const std::string& name);
/// The family whose launcher this is, by the name of its file; empty: not known.
[[nodiscard]] std::string launcher_family(const std::string& program);

/// The command that starts `ranks` ranks, to be followed by the program; also sets environment variables for the
/// launcher. Throws UsageError.
[[nodiscard]] std::vector<std::string> launcher_command(const codegen::Toolchain& toolchain, std::int64_t ranks,
                                                        bool elsewhere);

/// Prefixes of a run's folders; none if ranks may be on other machines. The first is for the launcher's own files:
/// concurrent launchers create and remove the folder they share by default, which occasionally makes one of them fail.
/// The second is for shared memory, which Open MPI leaves behind if its launcher is killed.
[[nodiscard]] std::vector<std::string> session_folders(bool elsewhere);

/// Folder of the ranks' liveness files: in memory if possible, to avoid disk delays.
[[nodiscard]] const std::string& signs_folder(const codegen::WorkFolder& session);

/// Environment variables with the folders, for launcher and ranks; the user's settings are kept.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> session_variables(const codegen::WorkFolder& session);

}  // namespace tdsl::tools
