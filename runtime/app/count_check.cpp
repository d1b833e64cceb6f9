#include "runtime/app/count_check.h"

#include <map>
#include <string>

namespace tdsl::rt {

namespace {

struct Counts {
  int line = 0;
  double bytes_received = 0, bytes_sent = 0, tasks = 0, flops = 0;
};

void compare(SourceLine place, const std::string& what, double measured, const plan::Range& predicted) {
  if (predicted.lo <= measured && measured <= predicted.hi) return;
  throw RunError(place, "this rank counted " + std::to_string(measured) + " " + what + " where " + std::to_string(predicted.lo) + " to " +
                            std::to_string(predicted.hi) + " were predicted: a fault of the compiler, please report it");
}

}  // namespace

void check_counts(const Predictions& predictions, const std::vector<SiteStatistics>& measured, const std::function<SourceLine(int)>& place) {
  std::map<int, Counts> sites;
  for (const SiteStatistics& s : measured) {
    Counts& counts = sites[s.site];
    counts.line = s.line;
    counts.bytes_received += static_cast<double>(s.bytes_received);
    counts.bytes_sent += static_cast<double>(s.bytes_sent);
    counts.tasks += static_cast<double>(s.tasks);
    counts.flops += s.flops;
  }
  for (const auto& [site, prediction] : predictions.sites()) {
    const Counts counts = sites[site];
    const SourceLine line = place(counts.line != 0 ? counts.line : prediction.line);
    compare(line, "bytes received", counts.bytes_received, prediction.cost.bytes_received);
    compare(line, "bytes sent", counts.bytes_sent, prediction.bytes_sent);
    compare(line, "tasks", counts.tasks, prediction.cost.tasks);
    compare(line, "operations", counts.flops, prediction.cost.flops);
  }
}

}  // namespace tdsl::rt
