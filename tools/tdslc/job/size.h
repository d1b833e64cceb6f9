#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/tdslc/job/site.h"

// How many nodes, how much memory and time a job asks for: a function of the site, of what the user fixed, and of what
// the planner says.

namespace tdsl::tools {

/// Ranks on nodes.
struct JobShape {
  std::int64_t nodes = 1;
  std::int64_t ranks = 1;
  std::int64_t ranks_per_node = 1;  ///< the most; the last node may have fewer
  std::int64_t threads = 1;         ///< of a rank
};

/// What the planner says of a program on ranks.
struct JobEstimate {
  bool fits = true;       ///< under the limit asked for; else `peak` is what the plan that exceeds it least would need
  double peak = 0;        ///< bytes of blocks of a rank
  std::string largest{};  ///< the statement that needs them, such as "C, line 5"
  double seconds = 0;     ///< without reading and writing files
  double read_bytes = 0;  ///< of all files
  double written_bytes = 0;
  std::string unknown{};  ///< why `seconds` is not known, such as "how often a loop runs depends on data"; empty: it is
  bool counts = false;    ///< a number of iterations would tell
  double iteration = 0;   ///< seconds of the longest one, as far as is known
  std::string loops{};    ///< such as "200 iterations of line 8, 51 s each"
  bool spills = false;    ///< what does not fit would with tensors on disk
  std::string homes{};    ///< these, and what they cost
  double disk = 0;        ///< bytes that a rank then has on disk at once, input files apart
  double spill_seconds = 0;  ///< of the program then, in place of `seconds`
};
/// Of both together: the worst of each, with the words of the one that needs more memory.
[[nodiscard]] JobEstimate greater_of(const JobEstimate& a, const JobEstimate& b);
/// `limit`: bytes of a rank's blocks; 0: none.
using JobEstimator = std::function<JobEstimate(const JobShape& shape, std::int64_t limit)>;

/// What the user fixed.
struct JobWishes {
  std::optional<std::int64_t> ranks{};
  std::optional<std::int64_t> nodes{};
  std::optional<std::int64_t> threads{};      ///< --threads of the program
  std::optional<std::int64_t> rank_memory{};  ///< --memory of the program
  std::optional<std::int64_t> node_memory{};  ///< --mem
  std::optional<std::int64_t> seconds{};      ///< --time
  bool checkpoints = false;                   ///< a run that is ended at the time limit goes on in its next attempt
  std::string rank_memory_text{}, node_memory_text{};  ///< the two as given, whose unit messages use
};

struct JobSize {
  JobShape shape;
  JobEstimate estimate;
  std::int64_t rank_limit = 0;      ///< bytes of blocks that a rank may have on these nodes
  std::int64_t program_memory = 0;  ///< --memory that the program is given, as it does not fit otherwise; 0: none
  std::int64_t node_megabytes = 0;  ///< --mem
  std::int64_t disk_megabytes = 0;  ///< of a node's own disk; 0: nothing is written there
  std::int64_t seconds = 0;         ///< --time
  double low = 0, high = 0;         ///< seconds that are predicted, files included
  std::int64_t requeues = 0;
  std::int64_t signal_lead =
      0;                   ///< with checkpoints: seconds before the limit at which the run is told to save and end
  double wanted_lead = 0;  ///< what that would be if Slurm allowed it
  std::optional<std::pair<std::int64_t, double>>
      too_few;  ///< the most nodes found not to be enough, and a rank's bytes there
};

/// Memory of a rank besides blocks: program, MPI, threads' stacks, and what the runtime keeps clear of a limit.
inline constexpr std::int64_t kProcessBytes = std::int64_t{160} << 20;
/// Of a node's memory, what jobs plan with.
inline constexpr double kMemoryShare = 0.9;
/// Blocks are given this many times what the plan says.
inline constexpr double kMemoryMargin = 1.06;
/// A node is asked for so much more disk than the plan says.
inline constexpr double kDiskMargin = 1.02;
/// Slurm tells a job so many seconds before its end, at most.
inline constexpr double kMostLead = 65535;
/// A run takes between these shares of the predicted seconds,
inline constexpr double kFaster = 0.8, kSlower = 1.5;
/// and is given kTimeMargin times the longer one (without files), and kLeastSeconds at least.
inline constexpr double kTimeMargin = 2;
inline constexpr std::int64_t kLeastSeconds = 300;

/// Nodes, ranks, memory and time of a job: the fewest nodes on which the program fits, unless the user fixed them.
/// `estimate` is asked for several shapes, without a limit first. Throws rt::RunError (usage): more than the site has,
/// no size that fits, or no time that is known.
[[nodiscard]] JobSize size_job(const Site& site, const JobWishes& wishes, const JobEstimator& estimate);

}  // namespace tdsl::tools
