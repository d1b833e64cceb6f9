#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "runtime/base/environment.h"

// Where the ranks and threads of a run sit, and whether the launcher has placed them well.

namespace tdsl::rt {

/// One rank's cores: those of its node that the launcher or the batch system lets it use.
struct RankCores {
  std::string host;
  std::vector<int> allowed;     ///< ascending core numbers
  int online = 1;               ///< cores of the node
  std::uint64_t processor = 0;  ///< a hash of its model and instructions; 0: not known
  friend bool operator==(const RankCores&, const RankCores&) = default;
};

/// This process's cores.
[[nodiscard]] RankCores cores_of_this_process();
/// A hash of the model and the instructions in a text of the form of /proc/cpuinfo; 0 if it names neither.
[[nodiscard]] std::uint64_t processor_of(std::istream& cpuinfo);
/// Whether all ranks have equal processors, on which the same work gives the same bits.
[[nodiscard]] bool equal_processors(const std::vector<RankCores>& ranks);
/// As bytes for the other ranks, and back.
[[nodiscard]] std::string encode(const RankCores& cores);
[[nodiscard]] RankCores decode_cores(const std::string& text);

/// `4 ranks x 2 threads: node1: cores 0-1 | 2-3; node2: cores 0-1 | 2-3`; ranks that may use the same cores are
/// counted. A long list of nodes is cut.
[[nodiscard]] std::string cores_line(const std::vector<RankCores>& ranks, int threads);
/// What is wrong with the placement of ranks that want `wanted` threads each, and the command line that puts it right;
/// empty if nothing is.
[[nodiscard]] std::string placement_warning(const std::vector<RankCores>& ranks, int wanted, Launcher launcher,
                                            const std::string& command);

}  // namespace tdsl::rt
