#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/space/mesh.h"
#include "runtime/plan/space/owner_table.h"

// Placement is a function, not a table. A Distribution cuts the dimensions of a tensor (equally: of the space of an
// operation's output tiles) into tiles and computes the owner of each tile by arithmetic.
//
//   Grid        a processor grid over some dimensions: tile t of dimension d has grid coordinate (t div q) mod G;
//               the rank is `home` plus the coordinates' strides. 2 x 3 ranks over (i, j), q = 1:
//                     j tiles  0 1 2 0 1
//                  i tile 0    0 1 2 0 1
//                  i tile 1    3 4 5 3 4
//               Ranks that differ only along `repeat` axes each have a copy. 2 x 2 x 2 ranks, i and j cut, one repeat
//               axis (stride 1):
//                     j tiles  0   1
//                  i tile 0   0,1 2,3      ranks 0 2 4 6 share one copy, ranks 1 3 5 7 the other:
//                  i tile 1   4,5 6,7      each copy is a *fibre*, and a rank reads from the owner in its own
//               With a repeat axis of all ranks, every rank owns every tile.
//   Columns     two dimensions cut among ranks in columns (RankColumns): rows are cut anew in every column.
//   Table       an explicit owner per tile, for irregular parts (owner_table.h; shared, immutable).
// Columns and tables, and grids whose tiles are dealt out in turn, come from block maps (block_map.h).

namespace tdsl::plan {

/// How tiles of one dimension map to ranks: the grid coordinate of tile t is (t div q) mod size, and its digits are the
/// coordinates along the axes.
struct GridDim {
  std::vector<GridAxis> axes;        ///< most significant first; none: the dimension is not split
  Index q = 1;                       ///< consecutive tiles per coordinate before it advances
  [[nodiscard]] Index size() const;  ///< product of the axes' sizes
  /// The grid coordinate of a rank, and the part of the rank's number that the coordinate contributes.
  [[nodiscard]] Index coordinate(Index rank) const;
  [[nodiscard]] Index rank_part(Index coordinate) const;
  friend bool operator==(const GridDim&, const GridDim&) = default;
};

/// A half-open box of tile numbers.
struct TileBox {
  int rank = 0;
  std::array<Interval, kMaxRank> dim{};
  Interval& operator[](int d) { return dim[static_cast<std::size_t>(d)]; }
  const Interval& operator[](int d) const { return dim[static_cast<std::size_t>(d)]; }
};

/// A value whose copies share their parts: every tensor and operation has several.
class Distribution {
 public:
  Distribution() = default;
  // Never empty: there is no move, and a copy shares its parts.
  Distribution(const Distribution&) = default;
  Distribution& operator=(const Distribution&) = default;
  ~Distribution() = default;
  /// `repeat`: axes with a copy per coordinate.
  [[nodiscard]] static Distribution grid(Index ranks, std::vector<Tiling> tilings, std::vector<GridDim> dims,
                                         Index home = 0, std::vector<GridAxis> repeat = {});
  /// Everything on one rank.
  [[nodiscard]] static Distribution single(Index ranks, std::vector<Tiling> tilings, Index home);
  /// Ranks in columns over two dimensions.
  [[nodiscard]] static Distribution in_columns(std::vector<Tiling> tilings, const RankColumns& columns);
  /// A copy of everything on every rank.
  [[nodiscard]] static Distribution replicated(Index ranks, std::vector<Tiling> tilings);
  /// An owner per tile, row-major.
  [[nodiscard]] static Distribution table(Index ranks, std::vector<Tiling> tilings, std::vector<std::int32_t> owners);
  /// Tiles dealt to a map's blocks. `dims`: the map's dimension of every tile dimension, or -1. If the number of tiles
  /// is a multiple of the number of blocks, every block has as many. Otherwise a cyclic map deals runs of
  /// max(1, tiles / blocks) tiles, and a table's block of tile t is t blocks / tiles.
  [[nodiscard]] static Distribution mapped(Index ranks, std::vector<Tiling> tilings, const BlockMap& map,
                                           const std::vector<int>& dims);

  [[nodiscard]] bool by_table() const { return parts_->table.shared != nullptr; }
  [[nodiscard]] bool by_axes() const { return !by_table() && !parts_->columns; }
  /// Nothing for grids and tables.
  [[nodiscard]] const std::optional<RankColumns>& columns() const { return parts_->columns; }
  [[nodiscard]] Index ranks() const { return parts_->ranks; }
  [[nodiscard]] int rank() const { return static_cast<int>(parts_->tilings.size()); }
  [[nodiscard]] const Tiling& tiling(int d) const { return parts_->tilings[static_cast<std::size_t>(d)]; }
  [[nodiscard]] const std::vector<Tiling>& tilings() const { return parts_->tilings; }
  [[nodiscard]] const std::vector<GridDim>& grid_dims() const { return parts_->grid; }
  [[nodiscard]] const std::vector<GridAxis>& repeat() const { return parts_->repeat; }
  [[nodiscard]] Index home() const { return parts_->home; }
  /// The table; only with by_table().
  [[nodiscard]] const OwnerTable& owners() const { return *parts_->table.shared; }
  [[nodiscard]] Index tile_count() const;

  /// Number of ranks that own each tile.
  [[nodiscard]] Index copies() const;
  /// True if every rank has a copy of everything.
  [[nodiscard]] bool everywhere() const { return !parts_->repeat.empty() && copies() == parts_->ranks; }
  /// The copy that the rank reads from and may own a part of: ranks with equal coordinates along the repeat axes have
  /// equal numbers (without copies all are equal).
  [[nodiscard]] Index fibre(Index rank) const;
  /// The same tiles, owned only by the ranks of the first copy.
  [[nodiscard]] Distribution one_copy() const;

  /// The rank that owns the tile in the fibre of `me`.
  [[nodiscard]] Index owner(const Coord& tile, Index me = 0) const;
  [[nodiscard]] bool owns(Index rank, const Coord& tile) const { return owner(tile, rank) == rank; }
  /// Every rank that owns at least one tile of the box, of all copies, once each, in deterministic order of discovery.
  void for_each_owner(const TileBox& box, const std::function<void(Index)>& f) const;
  /// Tiles of dimension d that `rank` owns, in increasing order, if the owned set is a product over dimensions (not
  /// by a table). The rank's tiles are the product of these lists.
  [[nodiscard]] std::vector<Index> owned_along(Index rank, int d) const;
  /// For a table: the numbers of the rank's tiles in a box, in no particular order.
  void for_each_owned_in(const TileBox& box, Index rank, const std::function<void(Index)>& f) const;
  /// Calls f for each owned tile in row-major order of tile coordinates.
  void for_each_owned(Index rank, const std::function<void(const Coord&)>& f) const;
  [[nodiscard]] Index owned_tiles(Index rank) const;
  [[nodiscard]] Index owned_elements(Index rank) const;

  [[nodiscard]] Index linear(const Coord& tile) const;  ///< row-major tile number
  [[nodiscard]] Coord coord(Index linear) const;
  [[nodiscard]] Box box(const Coord& tile) const;  ///< the tile's elements
  [[nodiscard]] TileBox all_tiles() const;

  /// One line for messages: `grid i:2 x j:3 of 4x6 tiles, 2 copies`, with the given dimension names.
  [[nodiscard]] std::string describe(const std::vector<std::string>& names) const;
  friend bool operator==(const Distribution& a, const Distribution& b) {
    return a.parts_ == b.parts_ || *a.parts_ == *b.parts_;
  }

 private:
  /// Tables compare by content.
  struct SharedTable {
    std::shared_ptr<const OwnerTable> shared;
    friend bool operator==(const SharedTable& a, const SharedTable& b) {
      return a.shared == b.shared || (a.shared != nullptr && b.shared != nullptr && *a.shared == *b.shared);
    }
  };
  struct Parts {
    Index ranks = 1;
    Index home = 0;
    std::vector<Tiling> tilings{};
    std::vector<GridDim> grid{};
    std::vector<GridAxis> repeat{};
    std::optional<RankColumns> columns{};
    SharedTable table{};
    friend bool operator==(const Parts&, const Parts&) = default;
  };
  explicit Distribution(Parts parts) : parts_(std::make_shared<const Parts>(std::move(parts))) {}
  [[nodiscard]] static const std::shared_ptr<const Parts>& nothing();
  /// The rank's number relative to the grid's first rank.
  [[nodiscard]] Index in_grid(Index rank) const {
    return (rank - parts_->home % parts_->ranks + parts_->ranks) % parts_->ranks;
  }

  std::shared_ptr<const Parts> parts_ = nothing();
};

}  // namespace tdsl::plan
