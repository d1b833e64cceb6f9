#pragma once

#include <functional>
#include <vector>

#include "runtime/app/report/statistics.h"
#include "runtime/check.h"

namespace tdsl::rt {

/// Whether every run compares what it did with what the cost model foresaw: in builds with assertions.
#ifdef NDEBUG
inline constexpr bool kChecksCounts = false;
#else
inline constexpr bool kChecksCounts = true;
#endif

/// Throws RunError with the line where this rank did something else than predicted in closed form: bytes received and
/// sent, tasks, operations. `place` is the line of a site.
void check_counts(const Predictions& predictions, const std::vector<SiteStatistics>& measured,
                  const std::map<int, WriteCount>& writes, const std::function<SourceLine(int)>& place);

}  // namespace tdsl::rt
