#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/app/options/limits.h"

// Share of a node's memory that one rank may use for blocks: the default of `--memory`.

namespace tdsl::rt {

/// Properties of the calling process.
struct MemoryShare {
  int ranks = 1;                   ///< on this node; they share all limits except the one on address space
  int threads = 1;                 ///< of this rank
  std::int64_t slurm_node = 0;     ///< bytes the Slurm job may use on a node; 0: unknown
  std::int64_t address_space = 0;  ///< RLIMIT_AS; 0: none
  std::int64_t resident = 0;       ///< resident bytes at start, before any input is read; 0: current resident size
};

struct RankMemory {
  std::int64_t bytes = 0;  ///< for blocks; 0: no limit
  std::int64_t most = 0;   ///< the same without the margin; beyond it the kernel may kill the process
  std::int64_t beside =
      0;  ///< estimated bytes of the process other than blocks; exceeds `bytes` for small limits, see kPartForBlocks
  int ranks = 1;         ///< that share the limit
  bool machine = false;  ///< the limit is physical memory, not one that somebody configured
  std::string source;    ///< for messages: "the limit of the control group /job_7 is 110.0 MiB for 2 ranks"
};

/// Estimated bytes in addition to blocks and to the resident size at start: buffers of MPI and BLAS, plans, stacks.
inline constexpr std::int64_t kProcessBytes = std::int64_t{64} << 20;
/// At least this fraction (1/8) of a rank's share of a limit is for blocks, however much is already in use.
inline constexpr std::int64_t kPartForBlocks = 8;
/// Fraction of the remaining memory that is used.
inline constexpr double kUsableMemory = 0.95;
/// A thread's stack plus the address space that the C library reserves for its arena.
inline constexpr std::int64_t kThreadAddresses = (std::int64_t{8} + 64) << 20;

/// The minimum over control group, Slurm, address space and physical memory. Never 0 if any limit is known: a limit
/// that leaves no room gives 1 byte.
[[nodiscard]] RankMemory rank_memory(const SystemFiles& files, const MemoryShare& share);

/// Serialisation without zero bytes, and the minimum over all ranks.
[[nodiscard]] std::string encode(const RankMemory& memory);
[[nodiscard]] RankMemory least_memory(std::span<const std::string> of_ranks);

}  // namespace tdsl::rt
