#include <algorithm>
#include <numeric>

#include "runtime/plan/space/placement.h"
#include "runtime/plan/space/placement_parts.h"
#include "runtime/plan/space/tiles.h"

// Placements by block maps. Blocks are near-equal cuts, or cuts of equal work if the work is known, and so are tiles:
// with a multiple of the number of blocks, each block consists of whole tiles. Where tiles are given, or an extent is
// shorter than the number of blocks, the tiles are dealt to the blocks (Distribution::mapped).

namespace tdsl::plan {

using parts::plain_dim;

namespace {

bool names_ranks(const BlockMap& map, Index ranks) {
  return std::all_of(map.owners.begin(), map.owners.end(), [ranks](std::int32_t owner) { return owner < ranks; });
}

bool has_tiles(const std::vector<Tiling>& tilings) {
  return std::ranges::none_of(tilings, [](const Tiling& tiling) { return tiling.tiles() == 0; });
}

}  // namespace

std::optional<std::vector<ReduceChoice>> PlacementBuilder::reduce_by(const BlockMap& map, Index output_tiles) const {
  const std::size_t rank = op_.shape.size();
  if (map.columns) {
    const Index ranks = inputs_.ranks, rows = map.columns->blocks(map.columns->row_dim);
    std::vector<ReduceChoice> choices;
    for (std::size_t k = 0; k < op_.reduce.size(); ++k)
      choices.push_back({whole_panels(k, ranks * rows > 4096 ? ranks : std::lcm(ranks, rows)), 0, {}});
    return choices;
  }
  Index split = 1;
  for (std::size_t s = rank; s < map.blocks.size(); ++s) split *= map.blocks[s];
  if (split == 1) return unsplit(output_tiles, inputs_.ranks, 1);
  if (op_.combine == Combine::kNone || op_.base >= 0) return std::nullopt;
  Index wanted = parts_wanted(output_tiles * split, inputs_.ranks);
  std::vector<ReduceChoice> choices;
  int labels = 0;
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
    const Index blocks = map.blocks[rank + k];
    if (blocks > 1 && k > 0 && assembles(op_)) return std::nullopt;
    if (cuts_) {
      if (cuts_->reduce[k].parts() % blocks != 0) return std::nullopt;
      choices.push_back(canonical(k, {}));
      continue;
    }
    Tiling tiling = blocks == 1 ? whole_panels(k, 1) : panels(k, blocks * wanted);
    if (blocks > 1 && tiling.tiles() % blocks != 0) {  // an operand has a different cut
      tiling = even_panels(op_.reduce[k].label, blocks * wanted);
    }
    ReduceChoice choice{tiling, 0, {}};
    if (blocks > 1 && tiling.tiles() > 0) {
      choice.per_part = std::max<Index>(tiling.tiles() / blocks, 1);
      if (choice.per_part % wanted == 0) choice.per_part /= wanted;
      wanted = 1;
      if (++labels > op_.most_split_labels()) return std::nullopt;
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

/// Adopts the cuts of the largest placed operand if they are unequal: those of two tensors have no common ends.
void PlacementBuilder::adopt_cuts(const std::vector<Index>& blocks, std::vector<Tiling>& tilings) const {
  if (cuts_ || !inputs_.tile.empty()) return;
  for (std::size_t o = op_.tile.size(); o < op_.shape.size(); ++o) {
    const OutSubscript& s = op_.out[o];
    if (s.label < 0 || s.coefficient != 1 || op_.is_uncut(o)) continue;
    double largest = 0;
    for (const Access& access : op_.reads) {
      const PlacedTensor* const operand = operands_.placed(access.tensor);
      const int d = operand != nullptr ? plain_dim(op_, access, s.label, operand->desc) : -1;
      if (d < 0 || operand->desc.shape[idx(d)] != op_.shape[o]) continue;
      const Tiling& tiling = operand->distribution.tiling(d);
      const auto bytes = static_cast<double>(operand->desc.bytes());
      if (tiling.ends() == nullptr || tiling.tiles() % blocks[o] != 0 || bytes <= largest) continue;
      largest = bytes;
      tilings[o] = tiling;
    }
  }
}

std::optional<Candidate> PlacementBuilder::realise(const BlockMap& work) const {
  const std::size_t rank = op_.shape.size();
  if (work.blocks.size() != rank && work.blocks.size() != rank + op_.reduce.size()) return std::nullopt;
  if (!names_ranks(work, inputs_.ranks) || (work.columns && (cuts_ || rank != 2 || work.blocks.size() != 2)))
    return std::nullopt;
  const std::vector<Index> blocks(work.blocks.begin(), work.blocks.begin() + static_cast<std::ptrdiff_t>(rank));
  Draft draft;
  draft.tilings = out_tilings(blocks, inputs_.threads, inputs_.ranks);
  if (!work.columns) adopt_cuts(blocks, draft.tilings);
  if (!work.columns && !has_tiles(draft.tilings)) return std::nullopt;
  std::optional<std::vector<ReduceChoice>> reduce = reduce_by(work, tile_count(draft.tilings));
  if (!reduce) return std::nullopt;
  draft.reduce = std::move(*reduce);
  double tiles = static_cast<double>(tile_count(draft.tilings));
  for (const ReduceChoice& r : draft.reduce)
    tiles *= static_cast<double>(r.per_part > 0 ? ceil_div(r.tiling.tiles(), r.per_part) : 1);
  if (!work.columns && tiles > static_cast<double>(kTableTiles)) return std::nullopt;
  double tasks = static_cast<double>(tile_count(draft.tilings));
  for (const ReduceChoice& r : draft.reduce) tasks *= static_cast<double>(std::max<Index>(r.tiling.tiles(), 1));
  if (!work.owners.empty() && tasks > kTableTasks) return std::nullopt;
  draft.map = work;
  draft.dims.resize(rank);
  return build(std::move(draft),
               work.columns ? std::to_string(work.columns->count) + " columns of ranks" : "as planned");
}

std::optional<Distribution> PlacementBuilder::source_by(const BlockMap& map, const Distribution& leaf,
                                                        const TensorDesc& tensor) const {
  const std::size_t rank = tensor.shape.size();
  if (map.blocks.size() != rank || !names_ranks(map, inputs_.ranks)) return std::nullopt;
  if (map.columns)
    return tensor.has_uncut()
               ? std::nullopt
               : std::optional(in_columns(tensor, *map.columns, std::vector<std::optional<Tiling>>(rank)));
  std::vector<Tiling> tilings = leaf.tilings();
  const std::vector<Tiling> own = tilings_for(tensor, {});
  for (std::size_t d = 0; d < rank; ++d) {
    if (tensor.is_uncut(d) && map.blocks[d] > 1) return std::nullopt;
    if (!tensor.tile.empty() && !tensor.is_uncut(d)) tilings[d] = Tiling::fixed(tensor.shape[d], tensor.tile[d]);
    const Index tiles = tilings[d].tiles(), blocks = map.blocks[d];
    if (tiles % blocks == 0 || !tensor.tile.empty()) continue;
    if (!inputs_.tile.empty() || cuts_) {  // the reader's tiles differ from the tensor's own
      tilings[d] = own[d];
      continue;
    }
    // Whole tiles of the reader, unless that gives far more of them.
    const Index both = std::lcm(tiles, blocks);
    tilings[d] = even(tensor, d, both <= 2 * std::max(tiles, blocks) ? both : ceil_div(tiles, blocks) * blocks);
  }
  if (!has_tiles(tilings)) return std::nullopt;
  if (!map.cyclic() && tile_count(tilings) > kTableTiles) return std::nullopt;
  std::vector<int> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  return Distribution::mapped(inputs_.ranks, std::move(tilings), map, dims);
}

}  // namespace tdsl::plan
