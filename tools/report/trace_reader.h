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
  int kind = 0;      ///< position in kKinds
  double start = 0;  ///< microseconds
  double length = 0;
  std::int64_t site = kNone, peer = kNone, panel = kNone;
  std::int64_t operation = -1;
  std::int64_t bytes = 0;
  std::int64_t request = 0;  ///< of the disk: the site of the tensor

  static constexpr std::int64_t kNone = (1 << 20) - 1;
};
/// As --trace writes them in "cat".
inline constexpr const char* kKinds[] = {"task", "wait",    "receive", "send",      "save",
                                         "plan", "control", "memory",  "disk read", "disk write"};

struct ReadTrace {
  nlohmann::json description;     ///< what the run says of itself
  std::vector<ReadEvent> events;  ///< in the order of ranks, threads and times
};

/// Why a text is no trace of ours.
class TraceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads what --trace writes. Throws TraceError.
[[nodiscard]] ReadTrace read_trace(std::string_view text);

}  // namespace tdsl::report
