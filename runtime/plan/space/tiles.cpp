#include "runtime/plan/space/tiles.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/plan/compressed.h"

namespace tdsl::plan {

namespace {

// Note [Tiles for threads] Threads execute whole tasks, so a rank stays busy to the end only with several tasks per
// thread: at least four tiles, in a number that small factors make divisible by the threads if possible. Panels
// multiply the tasks but run in order. For memory-bound work smaller tasks are worthwhile: the bytes and flops of a
// task count, not its elements. No tile is cut into pieces shorter than a grain: waking a thread for less costs more
// than it saves. Cuts that limit a tile's size, and all cuts under --reproducible, are independent of threads and
// grain.

/// The next number of pieces to cut, so that `tiles` becomes a multiple of `threads`.
Index next_cut(Index tiles, Index threads) {
  const Index rest = threads / std::gcd(threads, tiles);
  for (Index factor = 2; factor <= 7; ++factor) {
    if (rest % factor == 0) return factor;
  }
  return 2;
}

/// Limit on the tiles of a coordinate's share: planning takes time and memory in proportion to a dimension's tiles.
Index most_cuts(Index multiple) { return std::max<Index>(1, kMostTiles / multiple); }

constexpr Index kLargeTileUnits = 4;  ///< a tile of at least this many units is cut at whole units

/// True if each of `pieces` of a tile of memory-bound work, cut along a dimension with `edge`, is worth a task.
bool is_worth_tasks(const TileRequest& request, Index elements, std::size_t dimension, Index edge, Index pieces) {
  if (dimension >= request.thinnest.size() || edge / pieces < request.thinnest[dimension]) return false;
  const double each = static_cast<double>(elements) / static_cast<double>(pieces);
  return each * request.bytes >= kTaskBytes || each * request.flops >= kTaskFlops;
}

/// Tiles per coordinate and dimension: cuts the longest share until tiles are small enough and numerous enough.
std::vector<Index> cuts(const TileRequest& request, Index most, const Machine& machine) {
  std::vector<Index> cut(request.shape.size(), 1);
  const auto edge = [&](std::size_t d) { return ceil_div(request.shape[d], request.multiple[d] * cut[d]); };
  const auto elements = [&] {
    Index n = 1;
    for (std::size_t d = 0; d < cut.size(); ++d) n *= std::max<Index>(edge(d), 1);
    return n;
  };
  const auto tiles_per_rank = [&] {
    Index n = 1;
    for (std::size_t d = 0; d < cut.size(); ++d) n *= request.multiple[d] * cut[d];
    return n / std::max<Index>(request.spread, 1);
  };
  const auto is_uncut = [&](std::size_t d) { return d < request.uncut.size() && request.uncut[d]; };
  const auto longest_edge = [&] {
    Index longest = 0;
    for (std::size_t d = 0; d < cut.size(); ++d) longest = std::max(longest, edge(d));
    return longest;
  };
  for (std::size_t d = 0; request.contraction && d < cut.size(); ++d) {
    const Index longest = d < request.longest.size() ? request.longest[d] : kContractionEdge;
    cut[d] = std::clamp<Index>(ceil_div(edge(d), longest), 1, most_cuts(request.multiple[d]));
  }
  while (!cut.empty()) {
    const bool too_large = elements() > most && !request.contraction;
    const bool too_few = tiles_per_rank() < 4 * request.threads && request.threads > 1;
    const Index now = elements();
    const Index edges = longest_edge();
    bool worth = now >= 4 * kSmallTileElements || (edges >= 2 * kThinTile && now >= kSmallTilePoints / request.depth);
    // Prefer leading dimensions: rows of the last one stay long.
    std::size_t longest = 0;
    while (is_uncut(longest)) ++longest;
    if (longest == cut.size()) break;
    for (std::size_t d = longest + 1; d < cut.size(); ++d) {
      if (is_uncut(d)) continue;
      const Index bias = d + 1 == cut.size() && cut.size() > 1 && !request.contraction ? 64 : 1;
      if (edge(d) > edge(longest) * bias) longest = d;
    }
    const double seconds = static_cast<double>(now) * request.seconds;
    const Index pieces =
        too_large ? 2 : std::min(next_cut(tiles_per_rank(), request.threads), grains(seconds, machine));
    worth = worth || is_worth_tasks(request, now, longest, edge(longest), pieces);
    if (!too_large && !(too_few && worth && pieces > 1)) break;
    if (edge(longest) <= 1 || cut[longest] >= most_cuts(request.multiple[longest])) break;
    cut[longest] *= pieces;
  }
  return cut;
}

}  // namespace

std::vector<Tiling> choose_tiles(const TileRequest& request, const std::vector<Index>& edges,
                                 const PlanInputs& inputs) {
  std::vector<Tiling> tilings;
  const std::vector<Index> cut = cuts(request, moved_block(inputs), inputs.machine);
  for (std::size_t d = 0; d < request.shape.size(); ++d) {
    const Index extent = request.extents.empty() ? request.shape[d] : request.extents[d];
    if (d < edges.size()) {
      tilings.push_back(Tiling::fixed(extent, edges[d]));
    } else if (!inputs.tile.empty()) {
      tilings.push_back(Tiling::fixed(extent, inputs.tile[std::min(d, inputs.tile.size() - 1)]));
    } else {
      const Index least = ceil_div(extent, kMostBlockExtent);
      const Index tiles = request.multiple[d] * std::max(cut[d], ceil_div(least, request.multiple[d]));
      const bool large = extent >= kLargeTileUnits * request.unit * tiles && tiles > 1;
      tilings.push_back(Tiling::near_equal(extent, tiles, large ? request.unit : 1));
    }
  }
  return tilings;
}

Index grains(double seconds, const Machine& machine) {
  if (!(seconds > machine.grain)) return 1;  // also where an empty tensor makes it nan
  return static_cast<Index>(std::min(seconds / machine.grain, static_cast<double>(kMostTiles)));
}

Index tile_unit(const PlanInputs& inputs, Index element_bytes) {
  if (inputs.ranks > 1 || inputs.reproducible) return 1;
  // 32 x 12 and 6 x 16 in f32, 16 x 14 in f64.
  return element_bytes == 4 ? 96 : element_bytes == 8 ? 112 : 1;
}

Index moved_block(const PlanInputs& inputs) {
  constexpr Index kParts = 32, kElementBytes = 8, kLeast = 1 << 10;
  if (inputs.homes.empty() || inputs.memory == 0) return kMapTileElements;
  return std::clamp(inputs.memory / (kParts * kElementBytes), kLeast, kMapTileElements);
}

Tiling choose_panels(Index extent, Index multiple, Index longest, const std::vector<Index>& tile) {
  if (!tile.empty()) return Tiling::fixed(extent, tile.front());
  return Tiling::near_equal(extent,
                            multiple * std::clamp<Index>(ceil_div(extent, multiple * longest), 1, most_cuts(multiple)));
}

std::vector<Index> cut_extents(const TensorDesc& tensor) {
  std::vector<Index> extents = tensor.shape;
  if (!tensor.sized()) return extents;
  // At most one row per element: blocks list their rows.
  double left = std::max(1.0, tensor.stored.expected);
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (tensor.is_uncut(d)) continue;
    extents[d] = std::min(extents[d], Estimate::whole(std::ceil(left)));
    left /= static_cast<double>(std::max<Index>(extents[d], 1));
  }
  for (std::size_t d = extents.size(); d-- > 0;) {
    if (!tensor.is_uncut(d)) continue;
    extents[d] = std::min(extents[d], std::max<Index>(1, Estimate::whole(std::ceil(left))));
    left /= static_cast<double>(std::max<Index>(extents[d], 1));
  }
  return extents;
}

std::vector<Tiling> whole_tiles(const TensorDesc& tensor) {
  std::vector<Tiling> tilings;
  for (const Index extent : tensor.shape) tilings.push_back(Tiling::near_equal(extent, 1));
  return tilings;
}

}  // namespace tdsl::plan
