#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/trace.h"

// A trace as Chrome's and Perfetto's JSON. No MPI.

namespace tdsl::rt {

/// What a site is called.
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

/// Threads below these numbers compute; those of the disk come next; messages, which overlap, lie side by side on lanes
/// of their own.
inline constexpr int kDiskLane = 9000;
inline constexpr int kReceiveLane = 10000;
inline constexpr int kSendLane = 20000;

/// Hands the text to `write` piece by piece.
void write_trace_json(const TraceDescription& run, const std::vector<TracedThread>& threads,
                      const std::function<void(std::string_view)>& write);

}  // namespace tdsl::rt
