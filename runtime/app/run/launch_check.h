#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/environment.h"

// Launch checks that need all ranks: same executable, suitable processors, and no more ranks than the job has room for.

namespace tdsl::rt {

/// Data that a rank shares with the others.
struct LaunchFacts {
  std::string host;
  std::string program;        ///< path of the executable
  std::uint64_t content = 0;  ///< hash of the executable; 0 if unknown
  std::string missing;        ///< instruction sets that the program needs and this processor lacks
  bool fabric = false;        ///< the node has InfiniBand or a similar network
  friend bool operator==(const LaunchFacts&, const LaunchFacts&) = default;
};

/// Facts about this process; `missing` is missing_instructions().
[[nodiscard]] LaunchFacts launch_facts(const std::string& missing);
/// Serialisation for exchange between ranks.
[[nodiscard]] std::string encode(const LaunchFacts& facts);
[[nodiscard]] LaunchFacts decode_launch_facts(const std::string& text);

/// Why the ranks cannot run together, and how to fix it; empty if they can.
[[nodiscard]] std::string launch_error(const std::vector<LaunchFacts>& ranks);

/// Non-fatal problems, one line each. `threads`: threads per rank.
[[nodiscard]] std::vector<std::string> launch_warnings(const std::vector<LaunchFacts>& ranks,
                                                       const Environment& environment, int threads,
                                                       const std::string& command);

}  // namespace tdsl::rt
