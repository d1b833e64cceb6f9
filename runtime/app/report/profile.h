#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/mpi/mpi_world.h"

// Where the time of a run went, by source line: --profile. See Front for what the seconds mean.

namespace tdsl::rt {

/// Of one line, means over ranks where they are seconds, sums where they are not.
struct ProfileLine {
  SourceLine place;                ///< unknown: while no step was open
  std::vector<std::string> names;  ///< of what it computes
  double wall = 0;
  double kernel = 0;             ///< per thread
  double waiting = 0;            ///< per thread
  double disk = 0;               ///< of these, while something was read from disk or written there
  double flops = 0;              ///< GFLOP/s are flops in the kernels' seconds
  double bytes = 0;              ///< received
  double read = 0, written = 0;  ///< bytes of disks
};

struct Profile {
  std::string program;
  int ranks = 1;
  int threads = 1;
  std::vector<ProfileLine> lines;
};

/// Every rank's sites and what was between steps, gathered. All ranks call; the result is rank 0's alone.
[[nodiscard]] Profile gather_profile(World& world, const std::vector<SiteStatistics>& sites,
                                     const Front::Seconds& between, int threads,
                                     const std::function<SourceLine(int)>& place);
/// A table, the lines that took longest first.
[[nodiscard]] std::string profile_text(const Profile& profile);

}  // namespace tdsl::rt
