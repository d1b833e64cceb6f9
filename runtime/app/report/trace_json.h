#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/trace.h"

// Writes a trace in the JSON format of Chrome and Perfetto. Free of MPI.

namespace tdsl::rt {

/// Display names of a site.
struct TracedSite {
  std::string file;
  int line = 0;
  std::string name;
  std::string kind;
};

struct TracedThread {
  int rank = 0;
  int thread = 0;
  std::vector<TraceEvent> events;
};

struct TraceDescription {
  std::string program;
  int ranks = 1;
  int threads = 1;
  int halvings = 0;
  std::int64_t lost = 0;
  std::map<int, TracedSite> sites;
};

/// Lane numbers: compute threads come first, then disk threads from kDiskLane on, then messages, which overlap and get
/// their own lanes.
inline constexpr int kDiskLane = 9000;
inline constexpr int kReceiveLane = 10000;
inline constexpr int kSendLane = 20000;

/// Passes the text to `write` in pieces.
void write_trace_json(const TraceDescription& run, const std::vector<TracedThread>& threads,
                      const std::function<void(std::string_view)>& write);

}  // namespace tdsl::rt
