#include "tools/tdslc/job/loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/check.h"
#include "tools/tdslc/job/text.h"

namespace tdsl::tools {

namespace {

/// Execution count by site: its first iteration plus the middle one, which represents the others.
std::map<int, double> times_of(const plan::Region& region) {
  std::map<int, double> times;
  for (const plan::RegionOp& recorded : region.ops) times[recorded.op.site] += recorded.weight;
  return times;
}

/// Execution counts of loops, grouped so that neighbours differ by at most 1: first and last of each group.
std::vector<std::pair<double, double>> weight_groups(const std::map<int, double>& times) {
  std::vector<double> weights;
  for (const auto& [site, count] : times) {
    if (count > 1.5) weights.push_back(count);
  }
  std::ranges::sort(weights);
  std::vector<std::pair<double, double>> groups;
  for (const double weight : weights) {
    if (groups.empty() || weight - groups.back().second > 1 + 1e-6) groups.emplace_back(weight, weight);
    groups.back().second = weight;
  }
  return groups;
}

}  // namespace

std::vector<LoopPart> loop_parts(plan::Region region, double seconds,
                                 const std::function<double(const plan::Region&)>& seconds_of) {
  const std::map<int, double> times = times_of(region);
  std::vector<LoopPart> parts;
  for (const auto& [least, most] : weight_groups(times)) {
    LoopPart part{.least = least, .most = most};
    std::vector<std::pair<plan::RegionOp*, double>> weights;
    // Removes one iteration: the difference is its time, while parts that do not depend on weights (loading) cancel.
    for (plan::RegionOp& recorded : region.ops) {
      const double count = times.at(recorded.op.site);
      if (count < least || count > most) continue;
      weights.emplace_back(&recorded, recorded.weight);
      recorded.weight -= recorded.weight / count;
      const int line = rt::line_in(recorded.op.line);
      if (line == 0) continue;
      part.first = part.first == 0 ? line : std::min(part.first, line);
      part.last = std::max(part.last, line);
    }
    part.iteration = std::max(0.0, seconds - seconds_of(region));
    for (const auto& [recorded, weight] : weights) recorded->weight = weight;
    parts.push_back(part);
  }
  return parts;
}

double longest_iteration(const std::vector<LoopPart>& parts) {
  double longest = 0;
  for (const LoopPart& part : parts) longest = std::max(longest, part.iteration);
  return longest;
}

std::string loop_text(const std::vector<LoopPart>& parts) {
  if (parts.empty()) return {};
  const auto total = [](const LoopPart& part) { return part.least * part.iteration; };
  const LoopPart& part = *std::ranges::max_element(parts, {}, total);
  const std::string each = rough_time(part.iteration);
  std::string times = fmt::format("{:.0f}", part.least);
  if (part.most > part.least + 1.5) times += fmt::format(" to {:.0f}", part.most);
  if (part.last == 0) return fmt::format("a loop runs {} times, {} each", times, each);
  const std::string lines =
      part.first == part.last ? fmt::format(" {}", part.first) : fmt::format("s {} to {}", part.first, part.last);
  return fmt::format("{} iterations of line{}, {} each", times, lines, each);
}

}  // namespace tdsl::tools
