#include "runtime/plan/space/canonical.h"

#include <algorithm>

#include "runtime/plan/compressed.h"
#include "runtime/plan/space/placement.h"
#include "runtime/plan/space/placement_parts.h"
#include "runtime/plan/space/task_size.h"
#include "runtime/plan/space/tiles.h"

namespace tdsl::plan {

using parts::plain_dim;

namespace {

/// Approximate number of tiles per tensor, as long as each is worth a task.
constexpr Index kTiles = 144;
constexpr Index kLeastTileElements = 1 << 16;
/// Results with fewer tiles are computed as about this many partial results.
constexpr Index kShares = 24;
constexpr double kLeastPoints = 1 << 18;  ///< minimum points of an operation whose sum is worth splitting

/// 1, 2, 4, 6, 12, 24, 48, …: numbers that are divisible by most numbers of ranks.
Index finer(Index tiles) { return tiles == 1 || tiles == 2 ? 2 * tiles : tiles == 4 ? 6 : 2 * tiles; }

/// The longest edge is cut first; dimensions with equal extents are cut alike, so that the tiles of a transpose match.
std::vector<Index> tile_counts(const std::vector<Index>& shape) {
  const double limit = std::clamp(elements_of(shape) / kTiles, static_cast<double>(kLeastTileElements),
                                  static_cast<double>(kMapTileElements));
  std::vector<Index> count(shape.size(), 1);
  while (true) {
    double size = 1;
    Index longest = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Index edge = ceil_div(shape[d], count[d]);
      size *= static_cast<double>(edge);
      longest = std::max(longest, edge);
    }
    if (size <= limit || longest == 1) return count;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (ceil_div(shape[d], count[d]) != longest) continue;
      const Index extent = shape[d];
      const Index next = finer(count[d]);
      for (std::size_t e = d; e < shape.size(); ++e) {
        if (shape[e] == extent) count[e] = next;
      }
      break;
    }
  }
}

std::vector<Tiling> tiles_of_operand(const Operands& operands, TensorId id, const std::vector<Index>& tile) {
  if (const PlacedTensor* placed = operands.placed(id); placed != nullptr) return placed->distribution.tilings();
  const TensorDesc& tensor = operands.describe(id);
  std::vector<Tiling> tilings = canonical_tiles(cut_extents(tensor), tensor.tile, tile, tensor.shape);
  for (std::size_t d = 0; d < tilings.size(); ++d) {
    if (tensor.is_uncut(d)) tilings[d] = Tiling::near_equal(tensor.shape[d], 1);
  }
  return tilings;
}

/// The finest tiling among `own` and the operands' dimensions indexed by the label; ties go to the first.
Tiling finest(const Op& op, int label, Tiling own, const std::vector<Index>& tile, const Operands& operands) {
  for (const Access& access : op.own_reads()) {
    const PlacedTensor* placed = operands.placed(access.tensor);
    const int d = plain_dim(op, access, label, placed != nullptr ? placed->desc : operands.describe(access.tensor));
    if (d < 0) continue;
    const Tiling theirs = tiles_of_operand(operands, access.tensor, tile)[idx(d)];
    if (theirs.extent() == own.extent() && theirs.tiles() > own.tiles()) own = theirs;
  }
  return own;
}

std::vector<Tiling> cut_output(const Op& op, const std::vector<Index>& tile, const Operands& operands) {
  if (op.base >= 0) {
    if (const PlacedTensor* base = operands.placed(op.base); base != nullptr) return base->distribution.tilings();
  }
  const bool by_stored = op.outputs.size() == 1 && op.outputs.front().sized();
  std::vector<Tiling> tilings =
      canonical_tiles(by_stored ? cut_extents(op.outputs.front()) : op.shape, op.tile, tile, op.shape);
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    if (op.is_uncut(d)) {
      tilings[d] = Tiling::near_equal(op.shape[d], 1);
    } else if (op.out[d].label >= 0 && op.out[d].coefficient == 1 && d >= op.tile.size() && tile.empty()) {
      tilings[d] = finest(op, op.out[d].label, tilings[d], tile, operands);
    }
  }
  return tilings;
}

Tiling cut_label(const Op& op, std::size_t k, const std::vector<Index>& tile, const Operands& operands) {
  const int label = op.reduce[k].label;
  const Index extent = op.labels[idx(label)].range.size();
  const bool small_gather =
      op.labels[idx(label)].from_data && parts::gathered_bytes(op, label, operands) < kGatherWhole;
  // Non-commutative combinations need row-major order of the labels: only the first label may be cut.
  const bool in_order = k > 0 && ((op.combine == Combine::kNone && op.op_class == OpClass::kReduce) || assembles(op));
  if (small_gather || in_order || parts::combined_lists(op, operands) != nullptr) return Tiling::near_equal(extent, 1);
  const Tiling theirs = finest(op, label, Tiling::near_equal(extent, std::min<Index>(extent, 1)), tile, operands);
  if (theirs.tiles() > 1) return theirs;
  return choose_panels(
      extent, 1, op.op_class == OpClass::kContraction ? longest_edges(op, kProductBlock)[idx(label)] : kMapTileElements,
      tile);
}

/// A result with few tiles is computed as partial results of the label with the most panels, so that many ranks and
/// threads have work; together the parts are no larger than the operands.
void split_sum(const Op& op, Cuts& cuts, const std::vector<Index>& tile, const Operands& operands) {
  if (op.combine == Combine::kNone || op.base >= 0 || op.replicated || op.home >= 0 || op.reduce.empty() ||
      op.most_split_labels() == 0)
    return;
  if (tile.empty() && simple_points_of(op) < kLeastPoints) return;
  Index tiles = 1;
  for (const Tiling& t : cuts.out) tiles *= t.tiles();
  double operand_elements = 0;
  for (const Access& access : op.own_reads()) {
    const PlacedTensor* placed = operands.placed(access.tensor);
    operand_elements += elements_of((placed != nullptr ? placed->desc : operands.describe(access.tensor)).shape);
  }
  std::size_t most = 0;
  for (std::size_t k = 1; k < cuts.reduce.size(); ++k) {
    if (cuts.reduce[k].tiling.tiles() > cuts.reduce[most].tiling.tiles()) most = k;
  }
  Cuts::Reduction& reduction = cuts.reduce[most];
  const double elements = assembles(op) ? op.outputs.front().stored.expected : elements_of(op.shape);
  const double room = operand_elements / std::max(1.0, elements);
  const auto affordable = static_cast<Index>(std::min(room, static_cast<double>(kShares)));
  const Index parts = std::min({kShares / std::max<Index>(tiles, 1), reduction.tiling.tiles(), affordable});
  if (parts >= 2) reduction.per_part = ceil_div(reduction.tiling.tiles(), parts);
}

}  // namespace

std::vector<Tiling> canonical_tiles(const std::vector<Index>& shape, const std::vector<Index>& annotation,
                                    const std::vector<Index>& tile, const std::vector<Index>& extents) {
  const std::vector<Index> count = tile_counts(shape);
  std::vector<Tiling> tilings;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d < annotation.size()) {
      tilings.push_back(Tiling::fixed(extents[d], annotation[d]));
    } else if (!tile.empty()) {
      tilings.push_back(Tiling::fixed(extents[d], tile[std::min(d, tile.size() - 1)]));
    } else {
      tilings.push_back(Tiling::near_equal(extents[d], std::max(count[d], ceil_div(extents[d], kMostBlockExtent))));
    }
  }
  return tilings;
}

Cuts canonical_cuts(const Op& op, const std::vector<Index>& tile, const Operands& operands) {
  Cuts cuts;
  cuts.out = cut_output(op, tile, operands);
  for (std::size_t k = 0; k < op.reduce.size(); ++k) cuts.reduce.push_back({cut_label(op, k, tile, operands), 0});
  split_sum(op, cuts, tile, operands);
  return cuts;
}

}  // namespace tdsl::plan
