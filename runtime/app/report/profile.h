#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/mpi/mpi_world.h"

// Run time by source line: --profile. Front defines the meaning of the seconds.

namespace tdsl::rt {

/// One source line: seconds are means over ranks, counts are sums.
struct ProfileLine {
  SourceLine place;                ///< unknown: time while no step was open
  std::vector<std::string> names;  ///< of the values computed
  double wall = 0;
  double kernel = 0;             ///< per thread
  double waiting = 0;            ///< per thread
  double disk = 0;               ///< waiting time during disk reads and writes
  double flops = 0;              ///< GFLOP/s is flops per kernel second
  double bytes = 0;              ///< received
  double read = 0, written = 0;  ///< bytes on disk
};

struct Profile {
  std::string program;
  int ranks = 1;
  int threads = 1;
  std::vector<ProfileLine> lines;
};

/// Gathers every rank's sites and the time between steps. Collective; valid on rank 0 only.
[[nodiscard]] Profile gather_profile(World& world, const std::vector<SiteStatistics>& sites,
                                     const Front::Seconds& between, int threads,
                                     const std::function<SourceLine(int)>& place);
/// A table, sorted by time, longest first.
[[nodiscard]] std::string profile_text(const Profile& profile);

}  // namespace tdsl::rt
