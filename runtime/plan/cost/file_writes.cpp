#include "runtime/plan/cost/file_writes.h"

#include <algorithm>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/rank_view.h"

namespace tdsl::plan {

namespace {

/// The last cut dimension: a tile covers all later dimensions completely, so its elements along it are contiguous.
int last_cut(const Distribution& tiles) {
  int d = tiles.rank() - 1;
  while (d > 0 && tiles.tiling(d).tiles() <= 1) --d;
  return d;
}

}  // namespace

double file_writes(const Distribution& tiles, Index rank) {
  const int cut = last_cut(tiles);
  if (tiles.by_table()) {
    double pieces = 0;
    tiles.for_each_owned(rank, [&](const Coord& tile) {
      double of_tile = tiles.box(tile).empty() ? 0 : 1;
      for (int d = 0; d < cut; ++d) of_tile *= static_cast<double>(tiles.tiling(d).tile(tile[d]).size());
      pieces += of_tile;
    });
    return pieces;
  }
  double pieces = counting::has_part(tiles, rank) ? 1 : 0;
  for (int d = 0; d < tiles.rank(); ++d) {
    const counting::Intervals owned = counting::owned_intervals(tiles, rank, d);
    if (d < cut || counting::total(owned) == 0)
      pieces *= static_cast<double>(counting::total(owned));
    else if (d == cut)
      pieces *= static_cast<double>(owned.size());
  }
  return pieces;
}

double most_file_writes(const Distribution& tiles, Index sample) {
  double most = 0;
  for (const Index rank : rank_sample(tiles, sample)) most = std::max(most, file_writes(tiles, rank));
  return most;
}

}  // namespace tdsl::plan
