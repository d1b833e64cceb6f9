#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// Memory limits of this process, parsed from /proc and /sys.

namespace tdsl::rt {

/// Contents of a system file; empty if it cannot be read.
using SystemFiles = std::function<std::optional<std::string>(const std::string& path)>;
[[nodiscard]] std::optional<std::string> read_system_file(const std::string& path);

struct MemoryLimit {
  std::int64_t bytes = 0;  ///< 0: no limit
  std::string source;      ///< for messages, such as "the cgroup /job_7"
};

/// The control group whose memory limit this process shares.
struct MemoryGroup {
  MemoryLimit limit;                  ///< minimum of the group and its ancestors
  std::vector<std::string> counters;  ///< files with a line `oom_kill N`, the number of processes killed for this limit
};

/// From the control group of this process, version 1 or 2.
[[nodiscard]] MemoryGroup memory_group(const SystemFiles& files);
/// Number of processes of the group that were killed for memory.
[[nodiscard]] std::int64_t count_kills(const MemoryGroup& group, const SystemFiles& files);
/// N from the line `oom_kill N`; 0 if missing. Async-signal-safe.
[[nodiscard]] std::int64_t killed_processes(const char* text) noexcept;

}  // namespace tdsl::rt
