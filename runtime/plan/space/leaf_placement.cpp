#include "runtime/plan/space/placement.h"

#include <algorithm>
#include <numeric>

#include "runtime/plan/space/placement_parts.h"
#include "runtime/plan/space/tiles.h"

namespace tdsl::plan {

using parts::contiguous;
using parts::plain_dim;
using parts::reduced_dim;

namespace {

/// Number of coordinates of a whole grid.
Index dims_size(const std::vector<GridDim>& dims) {
  Index size = 1;
  for (const GridDim& dim : dims) size *= dim.size();
  return size;
}

/// A number of tiles with whole tiles for each of the shares: a multiple of both numbers, unless it is far larger.
Index common_multiple(Index tiles, Index shares) {
  const Index both = std::lcm(tiles, shares);
  return both <= 8 * std::max(tiles, shares) ? both : ceil_div(tiles, shares) * shares;
}

}  // namespace

void PlacementBuilder::place_leaves(Candidate& c) const {
  for (const Access& access : c.op.reads) {
    if (operands_.placed(access.tensor) != nullptr || c.leaves.contains(access.tensor)) continue;
    const TensorDesc& tensor = operands_.describe(access.tensor);
    const Layout* wanted = operands_.wanted ? operands_.wanted(access.tensor) : nullptr;
    Distribution where = leaf(c, access, tensor);
    c.leaves.emplace(access.tensor, wanted != nullptr ? lay_out(tensor, *wanted, where) : annotated(where, tensor));
  }
  if (c.op.base >= 0 && operands_.placed(c.op.base) == nullptr) c.leaves.insert_or_assign(c.op.base, c.plan.space);
}

Distribution PlacementBuilder::lay_out(const TensorDesc& tensor, const Layout& layout, const Distribution& like) const {
  if (!layout.map) return annotated(as_wanted(layout, like, tensor), tensor);
  const std::optional<Distribution> mapped = source_by(*layout.map, like, tensor);  // has the annotation's tiles
  return mapped ? *mapped : annotated(like, tensor);
}

Distribution PlacementBuilder::annotated(const Distribution& wanted, const TensorDesc& tensor) const {
  if (tensor.tile.empty()) return wanted;
  std::vector<Tiling> tilings;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    tilings.push_back(tensor.is_uncut(d) ? Tiling::near_equal(tensor.shape[d], 1)
                                         : Tiling::fixed(tensor.shape[d], tensor.tile[d]));
  }
  if (wanted.by_table()) return wanted;
  if (wanted.columns()) return Distribution::in_columns(std::move(tilings), *wanted.columns());
  std::vector<GridDim> dims = wanted.grid_dims();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!dims[d].axes.empty()) dims[d].q = contiguous(tilings[d], dims[d].size());
  }
  return Distribution::grid(inputs_.ranks, std::move(tilings), std::move(dims), wanted.home(), wanted.repeat());
}

Distribution PlacementBuilder::leaf(const Candidate& c, const Access& access, const TensorDesc& tensor) const {
  const int rank = static_cast<int>(tensor.shape.size());
  const Distribution& space = c.plan.space;
  const bool everywhere = space.everywhere();
  if (everywhere && !cuts_) return Distribution::replicated(inputs_.ranks, tilings_for(tensor, {}));
  std::vector<std::optional<Tiling>> tiling(idx(rank));
  std::vector<GridDim> dims(idx(rank));
  std::vector<bool> used(space.by_axes() ? static_cast<std::size_t>(space.rank()) : 0, false);
  std::optional<RankColumns> columns = space.columns();
  if (columns) columns->row_dim = columns->column_dim = -1;
  for (int o = 0; o < space.rank(); ++o) {
    const OutSubscript& s = c.op.out[idx(o)];
    if (s.label < 0) continue;
    const int d = plain_dim(c.op, access, s.label, tensor);
    if (d < 0 || tensor.shape[idx(d)] != c.op.shape[idx(o)] || tiling[idx(d)] || tensor.is_uncut(idx(d))) continue;
    tiling[idx(d)] = space.tiling(o);
    if (space.by_axes()) {
      dims[idx(d)] = space.grid_dims()[idx(o)];
      used[idx(o)] = true;
    } else if (columns) {
      if (o == space.columns()->row_dim) columns->row_dim = d;
      if (o == space.columns()->column_dim) columns->column_dim = d;
    }
  }
  for (std::size_t k = 0; k < c.op.reduce.size(); ++k) {
    const int d = reduced_dim(c.op, access, c.op.reduce[k].label, tensor);
    if (d < 0 || tiling[idx(d)] || tensor.is_uncut(idx(d))) continue;
    tiling[idx(d)] = c.plan.reduce[k];
    const int part = c.op.reduce[k].part_dim;
    if (part >= 0 && space.by_axes()) {
      dims[idx(d)] = space.grid_dims()[idx(part)];
      used[idx(part)] = true;
      if (!dims[idx(d)].axes.empty())
        dims[idx(d)].q *= ceil_div(std::max<Index>(c.plan.reduce[k].tiles(), 1), c.op.shape[idx(part)]);
    }
  }
  if (everywhere) return Distribution::replicated(inputs_.ranks, tilings_for(tensor, tiling));
  if (columns) return tensor.has_uncut() ? spread_rows(tensor, {}) : in_columns(tensor, *columns, std::move(tiling));
  if (space.by_table()) {
    if (!tensor.shape.empty() && tensor.elements() > kSmallOperand) return spread_rows(tensor, tiling);
    return Distribution::single(inputs_.ranks, tilings_for(tensor, tiling), 0);
  }
  spread_unused(tensor, space, used, tiling, dims);
  if (!tensor.shape.empty() && tensor.elements() > kSmallOperand && dims_size(dims) == 1 && inputs_.ranks > 1)
    return spread_rows(tensor, tiling);
  return Distribution::grid(inputs_.ranks, tilings_for(tensor, tiling), std::move(dims), space.home(), space.repeat());
}

Distribution PlacementBuilder::as_wanted(const Layout& wanted, const Distribution& leaf,
                                         const TensorDesc& tensor) const {
  const Mesh& mesh = *operands_.mesh;
  const bool spread = leaf.by_axes() && dims_size(leaf.grid_dims()) > 1;
  std::vector<Tiling> tilings = spread ? leaf.tilings() : tilings_for(tensor, {});
  std::vector<GridDim> dims;
  for (std::size_t d = 0; d < tilings.size(); ++d) {
    GridDim dim = tensor.is_uncut(d) ? GridDim() : grid_dim(mesh, wanted.cut[d]);
    const Index shares = dim.size();
    const Index tiles = tilings[d].tiles();
    if (shares > 1 && tiles % shares != 0 && inputs_.tile.empty() && !cuts_) {
      tilings[d] = even(tensor, d, common_multiple(tiles, shares));
    }
    if (shares > 1) dim.q = contiguous(tilings[d], shares);
    dims.push_back(std::move(dim));
  }
  return Distribution::grid(inputs_.ranks, std::move(tilings), std::move(dims), wanted.home, repeat_axes(mesh, wanted));
}

Distribution PlacementBuilder::spread_rows(const TensorDesc& tensor,
                                           const std::vector<std::optional<Tiling>>& known) const {
  std::vector<Tiling> tilings = cuts_ ? tilings_for(tensor, known) : tilings_for(tensor, {});
  const auto length = [&](std::size_t d) { return cuts_ ? tilings[d].tiles() : tensor.shape[d]; };
  std::size_t longest = 0;
  for (std::size_t d = 1; d < tensor.shape.size(); ++d) {
    if (tensor.is_uncut(longest) || (!tensor.is_uncut(d) && length(d) > length(longest))) longest = d;
  }
  std::vector<GridDim> dims(tensor.shape.size());
  if (tensor.is_uncut(longest)) return Distribution::grid(inputs_.ranks, std::move(tilings), std::move(dims), 0);
  if (inputs_.tile.empty() && !cuts_) {
    tilings[longest] = even(tensor, longest, ceil_div(tilings[longest].tiles(), inputs_.ranks) * inputs_.ranks);
  }
  dims[longest].axes.push_back({inputs_.ranks, 1});
  dims[longest].q = contiguous(tilings[longest], inputs_.ranks);
  return Distribution::grid(inputs_.ranks, std::move(tilings), std::move(dims), 0);
}

Distribution PlacementBuilder::in_columns(const TensorDesc& tensor, RankColumns columns,
                                          std::vector<std::optional<Tiling>> tiling) const {
  const int rank = static_cast<int>(tensor.shape.size());
  if (rank < 2) {
    // A vector: cut among all ranks in order.
    std::vector<GridDim> dims(idx(rank));
    std::vector<Tiling> tilings = tilings_for(tensor, {});
    if (rank == 1 && inputs_.ranks > 1) {
      if (inputs_.tile.empty()) tilings[0] = Tiling::near_equal(tensor.shape[0], inputs_.ranks);
      dims[0].axes.push_back({inputs_.ranks, 1});
      dims[0].q = contiguous(tilings[0], inputs_.ranks);
    }
    return Distribution::grid(inputs_.ranks, std::move(tilings), std::move(dims), 0);
  }
  int& row = columns.row_dim;
  int& column = columns.column_dim;
  for (int d = 0; d < rank && (row < 0 || column < 0); ++d) {
    if (d == row || d == column) continue;
    (row < 0 ? row : column) = d;
  }
  // Equal work needs whole blocks of the map.
  for (const int d : {row, column}) {
    const Index blocks = columns.blocks(d);
    std::optional<Tiling>& t = tiling[idx(d)];
    if (inputs_.tile.empty() && (!t || t->tiles() % blocks != 0))
      t = Tiling::near_equal(tensor.shape[idx(d)], common_multiple(t ? t->tiles() : 1, blocks));
  }
  return Distribution::in_columns(tilings_for(tensor, tiling), columns);
}

void PlacementBuilder::spread_unused(const TensorDesc& tensor, const Distribution& space, const std::vector<bool>& used,
                                     std::vector<std::optional<Tiling>>& tiling, std::vector<GridDim>& dims) const {
  const bool tiny = inputs_.tile.empty() && tensor.bytes() < 64 * 1024;
  for (int o = 0; o < space.rank() && !tiny; ++o) {
    const GridDim& lacking = space.grid_dims()[idx(o)];
    if (used[idx(o)] || lacking.axes.empty() || tensor.shape.empty()) continue;
    // The longest dimension relative to its existing cuts.
    std::size_t best = 0;
    for (std::size_t d = 1; d < dims.size(); ++d) {
      const bool longer = tensor.shape[d] / dims[d].size() > tensor.shape[best] / dims[best].size();
      if (tensor.is_uncut(best) || (!tensor.is_uncut(d) && longer)) best = d;
    }
    if (tensor.is_uncut(best)) return;
    GridDim& dim = dims[best];
    dim.axes.insert(dim.axes.end(), lacking.axes.begin(), lacking.axes.end());
    const Index total = dim.size();
    Tiling base = tiling[best] ? *tiling[best] : tilings_for(tensor, {})[best];
    if (inputs_.tile.empty() && !cuts_ && base.tiles() % total != 0) {
      base = even(tensor, best, common_multiple(base.tiles(), total));
    }
    tiling[best] = base;
    dim.q = contiguous(base, total);
  }
}

Tiling PlacementBuilder::even(const TensorDesc& tensor, std::size_t d, Index tiles) {
  const bool counted = d == 0 && tensor.rows != nullptr && tiles > 1;
  return counted ? tensor.rows->cut(tiles) : Tiling::near_equal(tensor.shape[d], tiles);
}

std::vector<Tiling> PlacementBuilder::tilings_for(const TensorDesc& tensor,
                                                  const std::vector<std::optional<Tiling>>& known) const {
  std::vector<Tiling> chosen = cuts_ ? canonical_tiles(cut_extents(tensor), {}, inputs_.tile, tensor.shape)
                                     : choose_tiles({.shape = cut_extents(tensor),
                                                     .multiple = std::vector<Index>(tensor.shape.size(), 1),
                                                     .threads = inputs_.threads,
                                                     .spread = inputs_.ranks,
                                                     .extents = tensor.shape},
                                                    {}, inputs_);
  for (std::size_t d = 0; d < known.size(); ++d) {
    if (known[d]) chosen[d] = *known[d];
  }
  for (std::size_t d = 0; d < chosen.size(); ++d) {
    if (tensor.is_uncut(d)) {
      chosen[d] = Tiling::near_equal(tensor.shape[d], 1);
    } else if (!cuts_ && inputs_.tile.empty() && (d >= known.size() || !known[d])) {
      chosen[d] = even(tensor, d, chosen[d].tiles());
    }
  }
  return chosen;
}

}  // namespace tdsl::plan
