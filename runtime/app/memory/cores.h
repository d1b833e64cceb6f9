#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "runtime/base/environment.h"

// Core affinity of ranks and threads, and whether the launcher has placed them well.

namespace tdsl::rt {

/// The cores of one rank: those of its node that the launcher or batch system allows it.
struct RankCores {
  std::string host;
  std::vector<int> allowed;     ///< ascending core numbers
  int online = 1;               ///< cores of the node
  std::uint64_t processor = 0;  ///< hash of model and instruction sets; 0 if unknown
  friend bool operator==(const RankCores&, const RankCores&) = default;
};

/// This node's name; empty if unknown.
[[nodiscard]] std::string host_name();
/// This process's cores.
[[nodiscard]] RankCores cores_of_this_process();
/// Hash of model and instruction sets in a text in the format of /proc/cpuinfo; 0 if it has neither.
[[nodiscard]] std::uint64_t processor_of(std::istream& cpuinfo);
/// True if all ranks have identical processors, on which the same work gives the same bits.
[[nodiscard]] bool equal_processors(const std::vector<RankCores>& ranks);
/// Serialisation for exchange between ranks.
[[nodiscard]] std::string encode(const RankCores& cores);
[[nodiscard]] RankCores decode_cores(const std::string& text);

/// `4 ranks x 2 threads: node1: cores 0-1 | 2-3; node2: cores 0-1 | 2-3`. Ranks with the same cores are counted
/// together. A long list of nodes is truncated.
[[nodiscard]] std::string cores_line(const std::vector<RankCores>& ranks, int threads);
/// Describes a bad placement of ranks with `wanted` threads each, with the launch command that fixes it; empty if the
/// placement is good.
[[nodiscard]] std::string placement_warning(const std::vector<RankCores>& ranks, int wanted, Launcher launcher,
                                            const std::string& command);

}  // namespace tdsl::rt
