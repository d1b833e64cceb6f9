#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What jobs of a site look like: a file of `key = value` lines, which `tdslc doctor --site` proposes and people
// correct.

namespace tdsl::tools {

enum class JobLauncher : std::uint8_t { kSrun, kMpirun };

struct Site {
  std::string partition;  ///< empty: the site's default
  std::string account;
  JobLauncher launcher = JobLauncher::kSrun;
  std::string mpi = "pmix";   ///< srun's plugin
  std::int64_t nodes = 0;     ///< that a job can have
  std::int64_t cores = 0;     ///< of a node, without hardware threads
  std::int64_t sockets = 1;   ///< of a node
  std::int64_t memory = 0;    ///< bytes of a node that a job can have
  std::int64_t max_time = 0;  ///< seconds; 0: no limit
  double read_rate = 2e8;     ///< bytes per second of the file system, for one job
  double write_rate = 1e8;
  std::int64_t scratch =
      0;  ///< bytes of a node's own disk that a job can have, for tensors that memory has no room for; 0: not known
  std::string spill_dir;  ///< its folder, which may have shell variables in it; empty: the program looks for one
  std::string machine;    ///< constants for planning that were measured on a node; empty: those of this machine
  std::vector<std::string> options;  ///< of sbatch, one `#SBATCH` line each
  std::vector<std::string> setup;    ///< shell lines before the program starts
};

/// Throws rt::RunError (usage) with the line of `path`: an unknown key, a malformed value, a missing one.
[[nodiscard]] Site parse_site(std::string_view text, const std::string& path);
/// A file that parse_site reads back, its keys explained.
[[nodiscard]] std::string site_text(const Site& site);

/// What `propose_site` reads: sinfo -h -e -o FORMAT. The last two, state and size of a job, may be missing.
inline constexpr const char* kSinfoFormat = "%P|%D|%c|%X|%Y|%Z|%m|%l|%a|%d|%t|%s";

/// The proposal for the wanted partition, else for the default one, else for the first one that is up: of its nodes
/// that can run jobs, or of all if there are none, and no more than a job may have. `nodes`: what sinfo says;
/// `plugins`: srun --mpi=list; `configuration`: scontrol show config. Throws rt::RunError if no partition is found.
[[nodiscard]] Site propose_site(std::string_view nodes, std::string_view plugins, std::string_view configuration,
                                std::string_view wanted = {});

/// Lines `key: the file says A, the cluster B` for what the cluster knows; none: they agree.
[[nodiscard]] std::vector<std::string> site_differences(const Site& file, const Site& cluster);

}  // namespace tdsl::tools
