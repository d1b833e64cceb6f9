#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/app/options/limits.h"

// How much of its node's memory one rank may use for blocks: the default of `--memory`.

namespace tdsl::rt {

/// What a process knows of itself.
struct MemoryShare {
  int ranks = 1;                   ///< of this node, which share all limits but that on the address space
  int threads = 1;                 ///< of this rank
  std::int64_t slurm_node = 0;     ///< bytes that the Slurm job may use on a node; 0: it does not say
  std::int64_t address_space = 0;  ///< RLIMIT_AS; 0: none
  std::int64_t resident = 0;       ///< when the run began, before it read anything; 0: what is resident now
};

struct RankMemory {
  std::int64_t bytes = 0;   ///< for blocks; 0: nothing limits them
  std::int64_t most = 0;    ///< the same without the margin: beyond it the system may end the process
  std::int64_t beside = 0;  ///< what the process takes by our estimate, apart from blocks; above `bytes` of small
                            ///< limits, see kPartForBlocks
  int ranks = 1;            ///< that share the limit
  bool machine = false;     ///< the limit is what the machine has: nobody set it
  std::string source;       ///< for messages: "the limit of the control group /job_7 is 110.0 MiB for 2 ranks"
};

/// Beside blocks and what is resident when the run begins: buffers of MPI and BLAS, plans, stacks.
inline constexpr std::int64_t kProcessBytes = std::int64_t{64} << 20;
/// An eighth of a rank's share of a limit is for blocks, however much is in use.
inline constexpr std::int64_t kPartForBlocks = 8;
/// Of what is left this much is used.
inline constexpr double kUsableMemory = 0.95;
/// A thread's stack, and the addresses that the C library reserves for its allocations.
inline constexpr std::int64_t kThreadAddresses = (std::int64_t{8} + 64) << 20;

/// The least of control group, Slurm, address space and physical memory. Never 0 where something is known: a limit that
/// leaves nothing is 1 byte.
[[nodiscard]] RankMemory rank_memory(const SystemFiles& files, const MemoryShare& share);

/// As text without zero bytes, to be sent; and the least of all ranks' ones.
[[nodiscard]] std::string encode(const RankMemory& memory);
[[nodiscard]] RankMemory least_memory(std::span<const std::string> of_ranks);

}  // namespace tdsl::rt
