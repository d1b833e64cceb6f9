#include "runtime/app/options/count_check.h"

#include <limits>
#include <map>
#include <string>

namespace tdsl::rt {

namespace {

struct Counts {
  int line = 0;
  double bytes_received = 0, bytes_sent = 0, tasks = 0, flops = 0, disk_read = 0, disk_written = 0;
};

/// Widens the range by rounding errors. Operations per point may be fractional, and tasks add them in completion order:
/// measured and predicted sums each have an error of at most half an ulp per term.
plan::Range with_rounding(const plan::Range& range, double terms) {
  const double share = 2 * (terms + 1) * std::numeric_limits<double>::epsilon();
  return {range.lo * (1 - share), range.hi * (1 + share)};
}

void compare(SourceLine place, const std::string& what, double measured, const plan::Range& predicted) {
  if (predicted.lo <= measured && measured <= predicted.hi) return;
  throw RunError(place, "this rank counted " + std::to_string(measured) + " " + what + " where " +
                            std::to_string(predicted.lo) + " to " + std::to_string(predicted.hi) +
                            " were predicted: a fault of the compiler, please report it");
}

}  // namespace

void check_counts(const Predictions& predictions, const std::vector<SiteStatistics>& measured,
                  const std::map<int, WriteCount>& writes, const std::function<SourceLine(int)>& place) {
  std::map<int, Counts> sites;
  for (const SiteStatistics& s : measured) {
    Counts& counts = sites[s.site];
    counts.line = s.line;
    counts.bytes_received += static_cast<double>(s.bytes_received);
    counts.bytes_sent += static_cast<double>(s.bytes_sent);
    counts.tasks += static_cast<double>(s.tasks);
    counts.flops += s.flops;
    counts.disk_read += static_cast<double>(s.disk_read);
    counts.disk_written += static_cast<double>(s.disk_written);
  }
  for (const auto& [site, prediction] : predictions.sites()) {
    const Counts counts = sites[site];
    const SourceLine line = place(counts.line != 0 ? counts.line : prediction.line);
    compare(line, "bytes received", counts.bytes_received, prediction.cost.bytes_received);
    compare(line, "bytes sent", counts.bytes_sent, prediction.bytes_sent);
    compare(line, "bytes read from disk", counts.disk_read, prediction.cost.disk_read);
    // Results that are dead on completion are not written.
    compare(line, "bytes written to disk", counts.disk_written, {0, prediction.cost.disk_written.hi});
    const auto written = writes.find(site);
    if (written != writes.end() && prediction.cost.writes.hi > 0)
      compare(line, "writes", static_cast<double>(written->second.calls), prediction.cost.writes);
    compare(line, "tasks", counts.tasks, prediction.cost.tasks);
    compare(line, "operations", counts.flops, with_rounding(prediction.cost.flops, counts.tasks));
  }
}

}  // namespace tdsl::rt
