#pragma once

#include <functional>
#include <vector>

#include "runtime/app/report/statistics.h"
#include "runtime/check.h"

namespace tdsl::rt {

/// Whether every run compares its counts with the cost model's predictions: in builds with assertions.
#ifdef NDEBUG
inline constexpr bool kChecksCounts = false;
#else
inline constexpr bool kChecksCounts = true;
#endif

/// Throws RunError with the source line where this rank's counts (bytes received and sent, tasks, operations) differ
/// from a closed-form prediction. `place` maps a site to its line.
void check_counts(const Predictions& predictions, const std::vector<SiteStatistics>& measured,
                  const std::map<int, WriteCount>& writes, const std::function<SourceLine(int)>& place);

}  // namespace tdsl::rt
