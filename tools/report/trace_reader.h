#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace tdsl::report {

/// An event of a trace.
struct ReadEvent {
  int rank = 0;
  int thread = 0;
  int kind = 0;      ///< index into kKinds
  double start = 0;  ///< in microseconds
  double length = 0;
  std::int64_t site = kNone, peer = kNone, panel = kNone;
  std::int64_t operation = -1;
  std::int64_t bytes = 0;
  std::int64_t request = 0;  ///< for disk events: the tensor's site

  static constexpr std::int64_t kNone = (1 << 20) - 1;
};
/// Names used in "cat" by --trace.
inline constexpr const char* kKinds[] = {"task", "wait",    "receive", "send",      "save",
                                         "plan", "control", "memory",  "disk read", "disk write"};

struct ReadTrace {
  nlohmann::json description;     ///< the trace's metadata about the run
  std::vector<ReadEvent> events;  ///< ordered by rank, thread and time
};

/// Thrown for texts that are not TDSL traces.
class TraceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Parses the output of --trace. Throws TraceError.
[[nodiscard]] ReadTrace read_trace(std::string_view text);

}  // namespace tdsl::report
