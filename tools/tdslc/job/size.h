#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/tdslc/job/site.h"

// Nodes, memory and time requested by a job, as a function of the site, the user's settings, and the planner's
// estimates.

namespace tdsl::tools {

/// Ranks, nodes and threads.
struct JobShape {
  std::int64_t nodes = 1;
  std::int64_t ranks = 1;
  std::int64_t ranks_per_node = 1;  ///< maximum; the last node may have fewer
  std::int64_t threads = 1;         ///< per rank
};

/// The planner's estimate for a program on given ranks.
struct JobEstimate {
  bool fits = true;       ///< within the given limit; otherwise `peak` is the need of the plan that exceeds it least
  double peak = 0;        ///< bytes of blocks per rank
  std::string largest{};  ///< the statement that needs them, such as "C, line 5"
  double seconds = 0;     ///< without file I/O
  double read_bytes = 0;  ///< of all files
  double written_bytes = 0;
  std::string
      unknown{};  ///< why `seconds` is unknown, such as "how often a loop runs depends on data"; empty if it is known
  bool counts = false;       ///< a number of iterations would make it known
  double iteration = 0;      ///< seconds of the longest one, as far as known
  std::string loops{};       ///< such as "200 iterations of line 8, 51 s each"
  bool spills = false;       ///< fits only with tensors on disk
  std::string homes{};       ///< those tensors, and their cost
  double disk = 0;           ///< peak bytes on disk per rank then, without input files
  double spill_seconds = 0;  ///< seconds of the program then, instead of `seconds`
};
/// Combined estimate: the maximum of each number, with the texts of the one that needs more memory.
[[nodiscard]] JobEstimate greater_of(const JobEstimate& a, const JobEstimate& b);
/// `limit`: bytes of a rank's blocks; 0: none.
using JobEstimator = std::function<JobEstimate(const JobShape& shape, std::int64_t limit)>;

/// Settings fixed by the user.
struct JobWishes {
  std::optional<std::int64_t> ranks{};
  std::optional<std::int64_t> nodes{};
  std::optional<std::int64_t> threads{};      ///< the program's --threads
  std::optional<std::int64_t> rank_memory{};  ///< the program's --memory
  std::optional<std::int64_t> node_memory{};  ///< --mem
  std::optional<std::int64_t> seconds{};      ///< --time
  bool checkpoints = false;                   ///< a run stopped at the time limit is resumed by the next attempt
  std::string rank_memory_text{}, node_memory_text{};  ///< both as given; messages use their unit
};

struct JobSize {
  JobShape shape;
  JobEstimate estimate;
  std::int64_t rank_limit = 0;      ///< bytes of blocks available per rank on these nodes
  std::int64_t program_memory = 0;  ///< --memory passed to the program if it would not fit otherwise; 0: none
  std::int64_t node_megabytes = 0;  ///< --mem
  std::int64_t disk_megabytes = 0;  ///< node-local disk; 0: not used
  std::int64_t seconds = 0;         ///< --time
  double low = 0, high = 0;         ///< range of predicted seconds, including file I/O
  std::int64_t requeues = 0;
  std::int64_t signal_lead =
      0;                   ///< with checkpoints: seconds before the limit at which the run is told to save and stop
  double wanted_lead = 0;  ///< the same without Slurm's maximum
  std::optional<std::pair<std::int64_t, double>>
      too_few;  ///< the largest insufficient number of nodes, and a rank's bytes there
};

/// Memory of a rank besides blocks: program, MPI, thread stacks, and the runtime's margin below a limit.
inline constexpr std::int64_t kProcessBytes = std::int64_t{160} << 20;
/// Fraction of a node's memory used for planning.
inline constexpr double kMemoryShare = 0.9;
/// Safety factor for predicted block memory.
inline constexpr double kMemoryMargin = 1.06;
/// Safety factor for predicted disk space.
inline constexpr double kDiskMargin = 1.02;
/// Maximum seconds between Slurm's signal and the end of a job.
inline constexpr double kMostLead = 65535;
/// Range of run times as factors of the predicted seconds.
inline constexpr double kFaster = 0.8, kSlower = 1.5;
/// The time limit is kTimeMargin times the longer run time (without file I/O), at least kLeastSeconds.
inline constexpr double kTimeMargin = 2;
inline constexpr std::int64_t kLeastSeconds = 300;

/// Bytes of blocks available to a rank, if `node_bytes` of a node's memory are shared by this many; at least 1.
[[nodiscard]] std::int64_t blocks_of_rank(double node_bytes, std::int64_t ranks_per_node);

/// Nodes, ranks, memory and time of a job: the fewest nodes on which the program fits, unless fixed by the user. Calls
/// `estimate` for several shapes, first without a limit. Throws rt::RunError (usage) if the site is too small, no size
/// fits, or the time is unknown.
[[nodiscard]] JobSize size_job(const Site& site, const JobWishes& wishes, const JobEstimator& estimate);

}  // namespace tdsl::tools
