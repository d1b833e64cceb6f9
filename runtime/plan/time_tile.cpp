#include "runtime/plan/time_tile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/plan/cost/machine.h"

namespace tdsl::plan {

namespace {

constexpr double kTileBytes = 256 * 1024;       ///< of one of two copies: both fit the second-level cache
constexpr double kLongest = 2;                  ///< the last dimension over the others: its lines are contiguous
constexpr double kCachedOverMemory = 4;         ///< rates of reading
constexpr double kMostShare = 0.8;              ///< of the time step by step, at most
constexpr Index kLeastOfRank = Index{1} << 16;  ///< of a rank, below which the choice is not worth its risk

/// The part of the tensor on a rank, cut along the first dimension.
std::vector<Index> part_of_rank(const StencilLoop& loop, Index ranks) {
  std::vector<Index> part = loop.shape;
  if (!part.empty()) part.front() = ceil_div(part.front(), ranks);
  return part;
}

double volume(const std::vector<Index>& extents) {
  double points = 1;
  for (const Index n : extents) points *= static_cast<double>(n);
  return points;
}

/// Computed points over points: margins of tiles are computed on both sides.
double redundancy(const StencilLoop& loop, const std::vector<Index>& tile, Index height) {
  double factor = 1;
  for (std::size_t d = 0; d < tile.size(); ++d) {
    if (tile[d] >= loop.shape[d]) continue;
    const auto width = static_cast<double>(loop.reach[d].below + loop.reach[d].above);
    factor *= 1 + width * static_cast<double>(height - 1) / (2 * static_cast<double>(tile[d]));
  }
  return factor;
}

}  // namespace

std::vector<Index> cache_tile(const std::vector<Index>& extents, const std::vector<Reach>& reach, Index steps,
                              Index element_bytes) {
  std::vector<Index> tile = extents;
  // Dimensions shorter than an equal share leave more to the others.
  double left = kTileBytes / static_cast<double>(element_bytes);
  std::vector<std::size_t> order(extents.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::ranges::sort(order, {}, [&](std::size_t d) { return extents[d]; });
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t d = order[k];
    const bool last = d + 1 == extents.size();
    const auto others = static_cast<double>(order.size() - k);
    // `left` is the product of the remaining edges, of which the last dimension's is the longest.
    const bool has_last =
        std::find(order.begin() + static_cast<std::ptrdiff_t>(k), order.end(), extents.size() - 1) != order.end();
    const double share = std::pow(left / (has_last && order.size() - k > 1 ? kLongest : 1), 1 / others);
    const double edge = std::floor(share * (last && order.size() - k > 1 ? kLongest : 1));
    // Margins on both sides are at most as long as the edge.
    const Index least = std::max<Index>(1, (reach[d].below + reach[d].above) * (steps - 1));
    tile[d] = std::min(extents[d], std::max(static_cast<Index>(edge), least));
    left = std::max(1.0, left / static_cast<double>(tile[d]));
  }
  return tile;
}

double seconds_of_step(const StencilLoop& loop, Index height, const Machine& machine, Index ranks, int threads) {
  const std::vector<Index> part = part_of_rank(loop, ranks);
  const double points = volume(part);
  const auto bytes = static_cast<double>(loop.element_bytes);
  const auto steps = static_cast<double>(height);
  const double pass = 2 * bytes / machine.stream_rate;
  const double computing = seconds_of_loop(loop.flops, machine);
  const double cached = std::max(computing, pass / kCachedOverMemory);
  const double streamed = 2 * bytes * points > machine.last_cache ? pass : pass / kCachedOverMemory;
  double point = std::max(computing, streamed);
  if (height > 1) {
    const double factor = redundancy(loop, cache_tile(part, loop.reach, height, loop.element_bytes), height);
    point = cached * factor + streamed / steps;
  }
  double once = machine.task_overhead;
  if (ranks > 1) {
    const auto rows = static_cast<double>(loop.reach.front().below + loop.reach.front().above) * steps;
    const double received = rows * bytes * points / static_cast<double>(std::max<Index>(part.front(), 1));
    once += machine.exchange_overhead + 2 * machine.latency + received / machine.bandwidth;
  }
  return point * points / threads + once / steps;
}

Index time_tile(const StencilLoop& loop, Index asked, const Machine& machine, Index ranks, int threads) {
  if (loop.end <= loop.begin || std::ranges::any_of(loop.shape, [](Index n) { return n < 1; })) return 1;
  // The difference of far ends wraps around: then there are more steps than a block has.
  const auto steps = static_cast<std::uint64_t>(loop.end) - static_cast<std::uint64_t>(loop.begin);
  const auto most = static_cast<Index>(std::min(steps, static_cast<std::uint64_t>(kMostHeight)));
  if (asked > 0) return std::min(asked, most);
  const std::vector<Index> part = part_of_rank(loop, ranks);
  if (volume(part) < static_cast<double>(kLeastOfRank)) return 1;
  Index best = 1;
  double least = kMostShare * seconds_of_step(loop, 1, machine, ranks, threads);
  for (Index height = 2; height <= most; height *= 2) {
    // A rank's margin is then longer than its part.
    if (ranks > 1 && std::max(loop.reach.front().below, loop.reach.front().above) * height > part.front()) break;
    const double seconds = seconds_of_step(loop, height, machine, ranks, threads);
    if (seconds >= least) continue;
    least = seconds;
    best = height;
  }
  return best;
}

}  // namespace tdsl::plan
