#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Profile for the jobs of a site: a file of `key = value` lines, proposed by `tdslc doctor --site` and edited by users.

namespace tdsl::tools {

enum class JobLauncher : std::uint8_t { kSrun, kMpirun };

struct Site {
  std::string partition;  ///< empty: the site's default
  std::string account;
  JobLauncher launcher = JobLauncher::kSrun;
  std::string mpi = "pmix";   ///< srun plugin
  std::string mpi_family;     ///< read by programs (runtime/engine/mpi/mpi_choice.h)
  std::int64_t nodes = 0;     ///< maximum per job
  std::int64_t cores = 0;     ///< per node, without hardware threads
  std::int64_t sockets = 1;   ///< per node
  std::int64_t memory = 0;    ///< bytes available to a job per node
  std::int64_t max_time = 0;  ///< seconds; 0: no limit
  double read_rate = 2e8;     ///< file system bandwidth of one job, in bytes per second
  double write_rate = 1e8;
  std::int64_t scratch = 0;          ///< bytes of node-local disk available to a job for spilled tensors; 0: unknown
  std::string spill_dir;             ///< its folder, may contain shell variables; empty: selected by the program
  std::string machine;               ///< machine file measured on a node; empty: this machine's constants
  std::vector<std::string> options;  ///< for sbatch, one `#SBATCH` line each
  std::vector<std::string> setup;    ///< shell lines executed before the program
};

/// Throws rt::RunError (usage) with the line in `path` for an unknown key or malformed value, or if a key is missing.
[[nodiscard]] Site parse_site(std::string_view text, const std::string& path);
/// A file readable by parse_site, with its keys explained.
[[nodiscard]] std::string site_text(const Site& site);

/// Format of `propose_site`'s input: sinfo -h -e -o FORMAT. The last two fields, state and job size, may be missing.
inline constexpr const char* kSinfoFormat = "%P|%D|%c|%X|%Y|%Z|%m|%l|%a|%d|%t|%s";

/// A profile for the requested partition, otherwise for the default one, otherwise for the first that is up: based on
/// its nodes that can run jobs, or on all if there are none, limited by the maximum per job. `nodes`: output of sinfo;
/// `plugins`: of srun --mpi=list; `configuration`: of scontrol show config. Throws rt::RunError if there is no
/// partition.
[[nodiscard]] Site propose_site(std::string_view nodes, std::string_view plugins, std::string_view configuration,
                                std::string_view wanted = {});

/// Lines `key: the file says A, the cluster B` for properties that the cluster reports; empty if all agree.
[[nodiscard]] std::vector<std::string> site_differences(const Site& file, const Site& cluster);

}  // namespace tdsl::tools
