#pragma once

#include <functional>
#include <vector>

#include "runtime/plan/cost/rank_view.h"

// Counting tile by tile for owner tables, under which the needed and owned sets of a rank are not products of
// intervals. A rank's tiles are those in its list, or the product of its intervals; the pieces they need are listed,
// each once per super-block, or once if the operand is kept.

namespace tdsl::plan::counting {

/// Of a tile and its super-block.
using TileFunction = std::function<void(const RankView&, Index)>;
/// Calls f for every tile of the rank.
void for_each_tile(const Op& op, const OpPlan& plan, Index rank, const TileFunction& f);

/// True if the operation writes any element of the tile.
[[nodiscard]] bool is_hit(const RankView& tile);
/// Points of the label space computed for the view's tiles.
[[nodiscard]] double points_in(const RankView& view);
/// Number of panels of a reduce label on a rank.
[[nodiscard]] Index panel_count(const Op& op, const OpPlan& plan, std::size_t k);
/// Number of panels per tile on a rank: the product over all reduce labels.
[[nodiscard]] double panel_count(const Op& op, const OpPlan& plan);

/// Approximate limit on the pieces listed for all ranks together; beyond it boxes are only bounded.
inline constexpr Index kListedPieces = 1 << 18;

/// A box inside one block of an operand that a rank fetches; or a box spanning several blocks, some or all of which it
/// fetches.
struct WantedPiece {
  TensorId tensor = -1;
  Index block = 0;  ///< row-major; -1: several blocks
  std::vector<Interval> box;
  Index super_block = 0;
  Index panel = 0;   ///< the first panel of the super-block that needs it
  double bytes = 0;  ///< for a sized tensor: dense bytes
  double boxes = 1;  ///< one per block
};

struct Wanted {
  std::vector<WantedPiece> pieces;  ///< each once per super-block that fetches it
  bool exact = true;                ///< every piece is within one block
  double read_bytes = 0;  ///< bytes of all boxes that its tasks access, each once per super-block, local or remote
};
/// `also`: called for every tile, too.
[[nodiscard]] Wanted wanted_by(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank,
                               const TileFunction& also = nullptr);

/// The tiles of a tensor that a rank has; for copies, those of its own copy.
class OwnTiles {
 public:
  OwnTiles(const Distribution& where, Index rank);
  [[nodiscard]] bool has(const std::vector<Index>& tile) const;

 private:
  const Distribution* where_;
  Index rank_;
  bool everything_ = false;
  bool nothing_ = false;
  std::vector<std::vector<bool>> along_;  ///< per dimension and tile; empty for owner tables
};

/// Elements of the product of disjoint sorted lists, one per dimension, that are in the rank's own tiles of an owner
/// table.
[[nodiscard]] double measure_owned(const Distribution& table, Index rank, const std::vector<Intervals>& lists);
/// The number of pieces into which these tiles cut the product.
[[nodiscard]] double count_owned(const Distribution& table, Index rank, const std::vector<Intervals>& lists);

}  // namespace tdsl::plan::counting
