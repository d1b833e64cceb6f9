#include "runtime/plan/space/distribution.h"

#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

namespace tdsl::plan {

namespace {
/// Distinct grid coordinates of the tiles in `tiles`, in order of first appearance.
std::vector<Index> coordinates_of(Interval tiles, Index q, Index size) {
  std::vector<Index> found;
  if (tiles.empty()) return found;
  const Index first = tiles.lo / q;
  const Index last = (tiles.hi - 1) / q;
  const Index count = std::min(last - first + 1, size);
  for (Index k = 0; k < count; ++k) found.push_back((first + k) % size);
  return found;
}

/// Row-major numbers of the tiles of a nonempty box.
template <class F>
void for_each_number(const std::vector<Tiling>& tilings, const TileBox& box, F&& f) {
  Coord at;
  for (int d = 0; d < box.rank; ++d) at[d] = box[d].lo;
  while (true) {
    Index number = 0;
    for (int d = 0; d < box.rank; ++d) number = number * tilings[idx(d)].tiles() + at[d];
    f(number);
    int d = box.rank - 1;
    for (; d >= 0; --d) {
      if (++at[d] < box[d].hi) break;
      at[d] = box[d].lo;
    }
    if (d < 0) return;
  }
}

/// A dimension of a cyclic map, cut into this many tiles.
GridDim cyclic_dim(const BlockMap& map, std::size_t slot, Index tiles) {
  GridDim dim;
  if (map.over[slot] == 1) return dim;
  Index stride = 1;
  for (std::size_t s = slot + 1; s < map.over.size(); ++s) stride *= map.over[s];
  dim.axes.push_back({map.over[slot], stride});
  dim.q = std::max<Index>(tiles / map.blocks[slot], 1);
  return dim;
}

}  // namespace

Index GridDim::size() const {
  Index n = 1;
  for (const GridAxis& axis : axes) n *= axis.size;
  return n;
}

Index GridDim::coordinate(Index rank) const {
  Index at = 0;
  for (const GridAxis& axis : axes) at = at * axis.size + axis.coordinate(rank);
  return at;
}

Index GridDim::rank_part(Index coordinate) const {
  Index part = 0;
  for (auto axis = axes.rbegin(); axis != axes.rend(); coordinate /= (axis++)->size)
    part += coordinate % axis->size * axis->stride;
  return part;
}

const std::shared_ptr<const Distribution::Parts>& Distribution::nothing() {
  static const auto parts = std::make_shared<const Parts>();
  return parts;
}

Distribution Distribution::grid(Index ranks, std::vector<Tiling> tilings, std::vector<GridDim> dims, Index home,
                                std::vector<GridAxis> repeat) {
  return Distribution(Parts{ranks, home, std::move(tilings), std::move(dims), std::move(repeat)});
}

Distribution Distribution::single(Index ranks, std::vector<Tiling> tilings, Index home) {
  const std::size_t n = tilings.size();
  return grid(ranks, std::move(tilings), std::vector<GridDim>(n), home);
}

Distribution Distribution::in_columns(std::vector<Tiling> tilings, const RankColumns& columns) {
  return Distribution(Parts{.ranks = columns.ranks, .tilings = std::move(tilings), .columns = columns});
}

Distribution Distribution::replicated(Index ranks, std::vector<Tiling> tilings) {
  const std::size_t n = tilings.size();
  return grid(ranks, std::move(tilings), std::vector<GridDim>(n), 0, {{ranks, 1}});
}

Distribution Distribution::table(Index ranks, std::vector<Tiling> tilings, std::vector<std::int32_t> owners) {
  const Distribution d(Parts{.ranks = ranks,
                             .tilings = std::move(tilings),
                             .table = {std::make_shared<const OwnerTable>(ranks, std::move(owners))}});
  if (d.owners().size() != d.tile_count()) throw std::logic_error("owner table has the wrong length");
  return d;
}

Distribution Distribution::mapped(Index ranks, std::vector<Tiling> tilings, const BlockMap& map,
                                  const std::vector<int>& dims) {
  if (map.columns) {
    const auto tile_dim = [&](int d) {
      return static_cast<int>(std::find(dims.begin(), dims.end(), d) - dims.begin());
    };
    return in_columns(std::move(tilings),
                      {ranks, map.columns->count, tile_dim(map.columns->row_dim), tile_dim(map.columns->column_dim)});
  }
  if (map.cyclic()) {
    std::vector<GridDim> grid_dims;
    for (std::size_t d = 0; d < tilings.size(); ++d)
      grid_dims.push_back(dims[d] < 0 ? GridDim{} : cyclic_dim(map, idx(dims[d]), tilings[d].tiles()));
    return grid(ranks, std::move(tilings), std::move(grid_dims), map.first % ranks);
  }
  std::vector<std::int32_t> owners;
  std::vector<Index> block(map.blocks.size(), 0);
  Index count = 1;
  for (const Tiling& tiling : tilings) count *= tiling.tiles();
  owners.reserve(static_cast<std::size_t>(count));
  for (Index tile = 0; tile < count; ++tile) {
    Index rest = tile;
    for (std::size_t d = tilings.size(); d-- > 0; rest /= tilings[d].tiles()) {
      if (dims[d] >= 0) block[idx(dims[d])] = rest % tilings[d].tiles() * map.blocks[idx(dims[d])] / tilings[d].tiles();
    }
    owners.push_back(static_cast<std::int32_t>(map.owner(block, ranks)));
  }
  return table(ranks, std::move(tilings), std::move(owners));
}

Index Distribution::tile_count() const {
  Index n = 1;
  for (const Tiling& t : parts_->tilings) n *= t.tiles();
  return n;
}

Index Distribution::copies() const {
  Index n = 1;
  for (const GridAxis& axis : parts_->repeat) n *= axis.size;
  return n;
}

Index Distribution::fibre(Index rank) const {
  Index part = 0;
  for (const GridAxis& axis : parts_->repeat) part += axis.coordinate(in_grid(rank)) * axis.stride;
  return part;
}

Distribution Distribution::one_copy() const {
  Parts parts = *parts_;
  parts.repeat.clear();
  return Distribution(std::move(parts));
}

Index Distribution::owner(const Coord& tile, Index me) const {
  if (by_table()) return owners().owner(linear(tile));
  if (parts_->columns) {
    const int row = parts_->columns->row_dim, column = parts_->columns->column_dim;
    return parts_->columns->owner(tile[row], tiling(row).tiles(), tile[column], tiling(column).tiles());
  }
  Index rank = parts_->home + fibre(me);
  for (int d = 0; d < this->rank(); ++d) {
    if (const GridDim& dim = parts_->grid[idx(d)]; !dim.axes.empty()) rank += dim.rank_part(tile[d] / dim.q);
  }
  return rank % parts_->ranks;
}

void Distribution::for_each_owner(const TileBox& box, const std::function<void(Index)>& f) const {
  for (int d = 0; d < rank(); ++d) {
    if (box[d].empty()) return;
  }
  if (parts_->columns) {
    const auto meets = [&](Index r, int d) {
      return !intersect(parts_->columns->tiles_of(r, d, tiling(d).tiles()), box[d]).empty();
    };
    for (Index c = 0; c < parts_->columns->count; ++c) {
      const Index first = parts_->columns->first_rank(c), end = first + parts_->columns->height(c);
      for (Index r = meets(first, parts_->columns->column_dim) ? first : end; r < end; ++r) {
        if (meets(r, parts_->columns->row_dim)) f(r);
      }
    }
    return;
  }
  if (by_table()) {
    std::set<Index> found;
    for_each_number(parts_->tilings, box, [&](Index tile) { found.insert(owners().owner(tile)); });
    for (Index r : found) f(r);
    return;
  }
  // Coordinates of different dimensions never produce the same rank twice: axes have disjoint strides.
  std::vector<Index> ranks{parts_->home};
  for (const GridAxis& axis : parts_->repeat) {
    const std::size_t before = ranks.size();
    for (Index k = 1; k < axis.size; ++k) {
      for (std::size_t r = 0; r < before; ++r) ranks.push_back(ranks[r] + k * axis.stride);
    }
  }
  for (int d = 0; d < rank(); ++d) {
    const GridDim& dim = parts_->grid[idx(d)];
    if (dim.axes.empty()) continue;
    std::vector<Index> next;
    const std::vector<Index> coordinates = coordinates_of(box[d], dim.q, dim.size());
    next.reserve(ranks.size() * coordinates.size());
    for (Index r : ranks) {
      for (Index g : coordinates) next.push_back(r + dim.rank_part(g));
    }
    ranks = std::move(next);
  }
  for (Index r : ranks) f(r % parts_->ranks);
}

std::vector<Index> Distribution::owned_along(Index rank, int d) const {
  std::vector<Index> tiles;
  const Index n = tiling(d).tiles();
  const auto add = [&](Interval range) {
    for (Index t = range.lo; t < range.hi; ++t) tiles.push_back(t);
  };
  if (by_table()) throw std::logic_error("a table's tiles are not a product");
  if (parts_->columns) {
    add(parts_->columns->tiles_of(rank, d, n));
    return tiles;
  }
  const GridDim& dim = parts_->grid[idx(d)];
  const Index offset = in_grid(rank);
  // A rank that is not reachable from coordinates of all dimensions and copies owns nothing.
  Index rebuilt = fibre(rank);
  for (const GridDim& other : parts_->grid) rebuilt += other.rank_part(other.coordinate(offset));
  if (rebuilt != offset) return tiles;
  if (dim.axes.empty()) {
    add({0, n});
    return tiles;
  }
  for (Index start = dim.coordinate(offset) * dim.q; start < n; start += dim.size() * dim.q)
    add({start, std::min(n, start + dim.q)});
  return tiles;
}

void Distribution::for_each_owned(Index rank, const std::function<void(const Coord&)>& f) const {
  if (by_table()) {
    for (const std::int32_t t : owners().tiles_of(rank)) f(coord(t));
    return;
  }
  std::vector<std::vector<Index>> along;
  Coord c;
  c.rank = this->rank();
  for (int d = 0; d < this->rank(); ++d) {
    along.push_back(owned_along(rank, d));
    if (along.back().empty()) return;
  }
  if (this->rank() == 0) {
    if (owns(rank, c)) f(c);
    return;
  }
  std::vector<std::size_t> position(along.size(), 0);
  while (true) {
    for (int d = 0; d < c.rank; ++d) c[d] = along[idx(d)][position[idx(d)]];
    f(c);
    int d = c.rank - 1;
    for (; d >= 0; --d) {
      if (++position[idx(d)] < along[idx(d)].size()) break;
      position[idx(d)] = 0;
    }
    if (d < 0) return;
  }
}

void Distribution::for_each_owned_in(const TileBox& box, Index rank, const std::function<void(Index)>& f) const {
  Index volume = 1;
  for (int d = 0; d < this->rank(); ++d) volume *= box[d].size();
  if (volume == 0) return;
  const std::span<const std::int32_t> list = owners().tiles_of(rank);
  if (volume <= static_cast<Index>(list.size())) {
    for_each_number(parts_->tilings, box, [&](Index tile) {
      if (owners().owner(tile) == rank) f(tile);
    });
    return;
  }
  for (const std::int32_t tile : list) {
    const Coord c = coord(tile);
    bool inside = true;
    for (int d = 0; d < c.rank; ++d) inside = inside && c[d] >= box[d].lo && c[d] < box[d].hi;
    if (inside) f(tile);
  }
}

Index Distribution::owned_tiles(Index rank) const {
  Index n = 0;
  if (by_table()) return static_cast<Index>(owners().tiles_of(rank).size());
  if (this->rank() == 0) {
    for_each_owned(rank, [&](const Coord&) { ++n; });
    return n;
  }
  n = 1;
  for (int d = 0; d < this->rank(); ++d) n *= static_cast<Index>(owned_along(rank, d).size());
  return n;
}

Index Distribution::owned_elements(Index rank) const {
  Index n = 0;
  if (by_table() || this->rank() == 0) {
    for_each_owned(rank, [&](const Coord& c) { n += box(c).volume(); });
    return n;
  }
  n = 1;
  for (int d = 0; d < this->rank(); ++d) {
    Index along = 0;
    for (Index t : owned_along(rank, d)) along += tiling(d).tile(t).size();
    n *= along;
  }
  return n;
}

Index Distribution::linear(const Coord& tile) const {
  Index n = 0;
  for (int d = 0; d < rank(); ++d) n = n * tiling(d).tiles() + tile[d];
  return n;
}

Coord Distribution::coord(Index linear) const {
  Coord c;
  c.rank = rank();
  for (int d = rank() - 1; d >= 0; --d) {
    c[d] = linear % tiling(d).tiles();
    linear /= tiling(d).tiles();
  }
  return c;
}

Box Distribution::box(const Coord& tile) const {
  Box b;
  b.rank = rank();
  for (int d = 0; d < rank(); ++d) b[d] = tiling(d).tile(tile[d]);
  return b;
}

TileBox Distribution::all_tiles() const {
  TileBox b;
  b.rank = rank();
  for (int d = 0; d < rank(); ++d) b[d] = {0, tiling(d).tiles()};
  return b;
}

std::string Distribution::describe(const std::vector<std::string>& names) const {
  const auto name = [&](int d) { return idx(d) < names.size() ? names[idx(d)] : "dim" + std::to_string(d); };
  std::string tiles;
  for (int d = 0; d < rank(); ++d) tiles += (d > 0 ? "x" : "") + std::to_string(tiling(d).tiles());
  if (rank() == 0) tiles = "1";
  if (everywhere()) return "on every rank";
  const std::string suffix = " of " + tiles + (tiles == "1" ? " tile" : " tiles");
  if (by_table()) return "table" + suffix;
  if (parts_->columns) {
    return std::to_string(parts_->columns->count) + " columns along " + name(parts_->columns->column_dim) +
           ", rows along " + name(parts_->columns->row_dim) + suffix;
  }
  std::string axes;
  for (int d = 0; d < rank(); ++d) {
    const GridDim& dim = parts_->grid[idx(d)];
    if (dim.size() == 1) continue;
    axes += (axes.empty() ? "" : " x ") + name(d) + ":" + std::to_string(dim.size());
    if (dim.q > 1) axes += "/" + std::to_string(dim.q);
  }
  if (axes.empty() && copies() > 1) return "whole on each of " + std::to_string(copies()) + " ranks" + suffix;
  if (axes.empty()) return "on rank " + std::to_string(parts_->home) + suffix;
  return "grid " + axes + suffix + (copies() > 1 ? ", " + std::to_string(copies()) + " copies" : "");
}

}  // namespace tdsl::plan
