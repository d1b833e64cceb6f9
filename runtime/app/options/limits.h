#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// How much memory the system lets this process have, from the texts of /proc and /sys.

namespace tdsl::rt {

/// The text of a file of the system; nothing if it cannot be read.
using SystemFiles = std::function<std::optional<std::string>(const std::string& path)>;
[[nodiscard]] std::optional<std::string> read_system_file(const std::string& path);

struct MemoryLimit {
  std::int64_t bytes = 0;  ///< 0: there is none
  std::string source;      ///< for messages, such as "the cgroup /job_7"
};

/// The group of processes that shares a limit with this one.
struct MemoryGroup {
  MemoryLimit limit;                  ///< the least of the group and of those above it
  std::vector<std::string> counters;  ///< files with a line `oom_kill N`: processes that were killed for it
};

/// Of the control group of this process, version 1 or 2.
[[nodiscard]] MemoryGroup memory_group(const SystemFiles& files);
/// Processes of the group that were killed for memory.
[[nodiscard]] std::int64_t count_kills(const MemoryGroup& group, const SystemFiles& files);
/// N of the line `oom_kill N`; 0 if there is none. Async-signal-safe.
[[nodiscard]] std::int64_t killed_processes(const char* text) noexcept;

}  // namespace tdsl::rt
