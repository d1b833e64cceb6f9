#pragma once

#include <algorithm>
#include <map>

#include "runtime/engine/context.h"
#include "runtime/engine/front.h"
#include "runtime/engine/tasks/operation.h"
#include "runtime/engine/watch/tracer.h"

namespace tdsl::rt {

/// Statistics of --stats and --profile: counts and times by site.
struct SiteCounts {
  /// Creates the entry of the operation's site. Even a rank without tasks may send for it.
  const SiteStatistics& add(const plan::Op& op) {
    SiteStatistics& site = sites[op.site];
    site.site = op.site;
    site.line = op.line;
    site.kind = name_of(op.op_class);
    if (site.name.empty()) site.name = op.name;
    return site;
  }
  /// Counts a task that ran from `start` to `end`; without `kernel` it only passed on blocks.
  void count(const TaskRun& task, double start, double end, bool kernel);
  /// Records a period of `seconds` without a poll.
  void note_silence(double seconds) { silence.longest = std::max(silence.longest, seconds); }

  std::map<int, SiteStatistics> sites;
  Front front;
  Silence silence;
  Index packed_bytes = 0;  ///< copied because plans require packed operands
};

/// A period of a thread without a task, from begin() to end(). Under the lock.
class IdleTime {
 public:
  IdleTime(const Context& context, SiteCounts& profile, const Tracer& tracer)
      : context_(context), profile_(profile), tracer_(tracer) {}
  ~IdleTime() { end(); }
  IdleTime(const IdleTime&) = delete;
  IdleTime& operator=(const IdleTime&) = delete;
  void begin();
  void end();

 private:
  const Context& context_;
  SiteCounts& profile_;
  const Tracer& tracer_;
  double since_ = kNever;
  int site_ = Front::kNowhere;
  static constexpr double kNever = -1;
};

}  // namespace tdsl::rt
