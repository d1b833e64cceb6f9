#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/environment.h"

// What only all ranks together show of a launch: that they run one program, on processors that can, as many as the job
// has room for.

namespace tdsl::rt {

/// What a rank tells the others.
struct LaunchFacts {
  std::string host;
  std::string program;        ///< path of the executable
  std::uint64_t content = 0;  ///< a hash of it; 0: not known
  std::string missing;        ///< instructions that the program needs and this processor lacks
  bool fabric = false;        ///< the node has InfiniBand or the like
  friend bool operator==(const LaunchFacts&, const LaunchFacts&) = default;
};

/// Of this process; `missing` is missing_instructions().
[[nodiscard]] LaunchFacts launch_facts(const std::string& missing);
/// As bytes for the other ranks, and back.
[[nodiscard]] std::string encode(const LaunchFacts& facts);
[[nodiscard]] LaunchFacts decode_launch_facts(const std::string& text);

/// Why the ranks cannot run together, with what to do; empty if they can.
[[nodiscard]] std::string launch_error(const std::vector<LaunchFacts>& ranks);

/// What a run can live with. `threads` are those of every rank; a message has one line.
[[nodiscard]] std::vector<std::string> launch_warnings(const std::vector<LaunchFacts>& ranks,
                                                       const Environment& environment, int threads,
                                                       const std::string& command);

}  // namespace tdsl::rt
