#include "runtime/plan/space/distribution.h"

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

Distribution Distribution::grid(Index ranks, std::vector<Tiling> tilings, std::vector<GridDim> dims, Index home,
                                std::vector<GridAxis> repeat) {
  Distribution d;
  d.kind_ = Kind::kGrid;
  d.ranks_ = ranks;
  d.home_ = home;
  d.tilings_ = std::move(tilings);
  d.grid_ = std::move(dims);
  d.repeat_ = std::move(repeat);
  return d;
}

Distribution Distribution::single(Index ranks, std::vector<Tiling> tilings, Index home) {
  const std::size_t n = tilings.size();
  return grid(ranks, std::move(tilings), std::vector<GridDim>(n), home);
}

Distribution Distribution::column_map(Index ranks, std::vector<Tiling> tilings, ColumnMap map) {
  Distribution d;
  d.kind_ = Kind::kColumnMap;
  d.ranks_ = ranks;
  d.tilings_ = std::move(tilings);
  d.columns_ = map;
  return d;
}

Distribution Distribution::replicated(Index ranks, std::vector<Tiling> tilings) {
  const std::size_t n = tilings.size();
  return grid(ranks, std::move(tilings), std::vector<GridDim>(n), 0, {{ranks, 1}});
}

Distribution Distribution::table(Index ranks, std::vector<Tiling> tilings, std::vector<std::int32_t> owners) {
  Distribution d;
  d.kind_ = Kind::kTable;
  d.ranks_ = ranks;
  d.tilings_ = std::move(tilings);
  d.table_.shared = std::make_shared<const OwnerTable>(ranks, std::move(owners));
  if (d.owners().size() != d.tile_count()) throw std::logic_error("owner table has the wrong length");
  return d;
}

Index Distribution::tile_count() const {
  Index n = 1;
  for (const Tiling& t : tilings_) n *= t.tiles();
  return n;
}

Index Distribution::copies() const {
  Index n = 1;
  for (const GridAxis& axis : repeat_) n *= axis.size;
  return n;
}

Index Distribution::fibre(Index rank) const {
  Index part = 0;
  for (const GridAxis& axis : repeat_) part += axis.coordinate(in_grid(rank)) * axis.stride;
  return part;
}

Distribution Distribution::one_copy() const {
  Distribution d = *this;
  d.repeat_.clear();
  return d;
}

// Columns: p ranks in C columns; the first p mod C columns hold one rank more.
Index Distribution::column_height(Index c) const {
  return ranks_ / columns_.columns + (c < ranks_ % columns_.columns ? 1 : 0);
}
Index Distribution::column_first_rank(Index c) const {
  return c * (ranks_ / columns_.columns) + std::min(c, ranks_ % columns_.columns);
}
// Column c takes its ranks' share of the tiles: [first rank, first rank + height) / p of them.
Interval Distribution::column_tiles(Index c) const {
  const Index n = tiling(columns_.column_dim).tiles();
  const Index first = column_first_rank(c);
  return {first * n / ranks_, (first + column_height(c)) * n / ranks_};
}
Interval Distribution::row_tiles(Index c, Index r) const {
  const Index n = tiling(columns_.row_dim).tiles();
  const Index height = column_height(c);
  return {r * n / height, (r + 1) * n / height};
}
Index Distribution::column_of_rank(Index rank) const {
  const Index low = ranks_ / columns_.columns;
  const Index tall = ranks_ % columns_.columns;
  return rank < tall * (low + 1) ? rank / (low + 1) : tall + (rank - tall * (low + 1)) / low;
}
Index Distribution::column_of_tile(Index t) const {
  Index c = column_of_rank(std::min(ranks_ - 1, t * ranks_ / tiling(columns_.column_dim).tiles()));
  while (column_tiles(c).lo > t) --c;
  while (column_tiles(c).hi <= t) ++c;
  return c;
}

Index Distribution::owner(const Coord& tile, Index me) const {
  switch (kind_) {
    case Kind::kTable: return owners().owner(linear(tile));
    case Kind::kColumnMap: {
      const Index c = column_of_tile(tile[columns_.column_dim]);
      const Index n = tiling(columns_.row_dim).tiles();
      const Index height = column_height(c);
      // The row whose range [r n / h, (r+1) n / h) holds the tile.
      const Index r = ((tile[columns_.row_dim] + 1) * height + n - 1) / n - 1;
      return column_first_rank(c) + r;
    }
    case Kind::kGrid: break;
  }
  Index rank = home_ + fibre(me);
  for (int d = 0; d < this->rank(); ++d) {
    if (const GridDim& dim = grid_[idx(d)]; !dim.axes.empty()) rank += dim.rank_part(tile[d] / dim.q);
  }
  return rank % ranks_;
}

void Distribution::for_each_owner(const TileBox& box, const std::function<void(Index)>& f) const {
  for (int d = 0; d < rank(); ++d) {
    if (box[d].empty()) return;
  }
  if (kind_ == Kind::kColumnMap) {
    const Interval columns = box[columns_.column_dim];
    for (Index c = column_of_tile(columns.lo); c < columns_.columns && column_tiles(c).lo < columns.hi; ++c) {
      if (intersect(column_tiles(c), columns).empty()) continue;
      for (Index r = 0; r < column_height(c); ++r) {
        if (!intersect(row_tiles(c, r), box[columns_.row_dim]).empty()) f(column_first_rank(c) + r);
      }
    }
    return;
  }
  if (kind_ == Kind::kTable) {
    std::set<Index> found;
    for_each_number(tilings_, box, [&](Index tile) { found.insert(owners().owner(tile)); });
    for (Index r : found) f(r);
    return;
  }
  // Coordinates of different dimensions never produce the same rank twice: axes have disjoint strides.
  std::vector<Index> ranks{home_};
  for (const GridAxis& axis : repeat_) {
    const std::size_t before = ranks.size();
    for (Index k = 1; k < axis.size; ++k) {
      for (std::size_t r = 0; r < before; ++r) ranks.push_back(ranks[r] + k * axis.stride);
    }
  }
  for (int d = 0; d < rank(); ++d) {
    const GridDim& dim = grid_[idx(d)];
    if (dim.axes.empty()) continue;
    std::vector<Index> next;
    const std::vector<Index> coordinates = coordinates_of(box[d], dim.q, dim.size());
    next.reserve(ranks.size() * coordinates.size());
    for (Index r : ranks) {
      for (Index g : coordinates) next.push_back(r + dim.rank_part(g));
    }
    ranks = std::move(next);
  }
  for (Index r : ranks) f(r % ranks_);
}

std::vector<Index> Distribution::owned_along(Index rank, int d) const {
  std::vector<Index> tiles;
  const Index n = tiling(d).tiles();
  const auto add = [&](Interval range) {
    for (Index t = range.lo; t < range.hi; ++t) tiles.push_back(t);
  };
  switch (kind_) {
    case Kind::kTable: throw std::logic_error("a table's tiles are not a product");
    case Kind::kColumnMap: {
      const Index c = column_of_rank(rank);
      if (d == columns_.column_dim) {
        add(column_tiles(c));
      } else if (d == columns_.row_dim) {
        add(row_tiles(c, rank - column_first_rank(c)));
      } else {
        add({0, n});
      }
      return tiles;
    }
    case Kind::kGrid: break;
  }
  const GridDim& dim = grid_[idx(d)];
  const Index offset = in_grid(rank);
  // A rank that is not reachable from coordinates of all dimensions and copies owns nothing.
  Index rebuilt = fibre(rank);
  for (const GridDim& other : grid_) rebuilt += other.rank_part(other.coordinate(offset));
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
  if (kind_ == Kind::kTable) {
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
    for_each_number(tilings_, box, [&](Index tile) {
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
  if (kind_ == Kind::kTable) return static_cast<Index>(owners().tiles_of(rank).size());
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
  if (kind_ == Kind::kTable || this->rank() == 0) {
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
  switch (kind_) {
    case Kind::kTable: return "table" + suffix;
    case Kind::kColumnMap:
      return std::to_string(columns_.columns) + " columns along " + name(columns_.column_dim) + ", rows along " +
             name(columns_.row_dim) + suffix;
    case Kind::kGrid: break;
  }
  std::string axes;
  for (int d = 0; d < rank(); ++d) {
    const GridDim& dim = grid_[idx(d)];
    if (dim.size() == 1) continue;
    axes += (axes.empty() ? "" : " x ") + name(d) + ":" + std::to_string(dim.size());
    if (dim.q > 1) axes += "/" + std::to_string(dim.q);
  }
  if (axes.empty() && copies() > 1) return "whole on each of " + std::to_string(copies()) + " ranks" + suffix;
  if (axes.empty()) return "on rank " + std::to_string(home_) + suffix;
  return "grid " + axes + suffix + (copies() > 1 ? ", " + std::to_string(copies()) + " copies" : "");
}

}  // namespace tdsl::plan
