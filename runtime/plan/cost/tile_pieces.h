#pragma once

#include <functional>
#include <vector>

#include "runtime/plan/cost/rank_view.h"

// Counting tile by tile, where tiles lie by a table and what a rank needs or owns is no product of intervals. A rank's
// tiles are those of its list, or the product of its intervals; what they need is listed piece by piece, each once per
// super-block.

namespace tdsl::plan::counting {

/// Calls f(tile, super-block) for every tile of the rank.
void for_each_tile(const Op& op, const OpPlan& plan, Index rank, const std::function<void(const RankView&, Index)>& f);

/// Whether the operation writes any element of the tile.
[[nodiscard]] bool is_hit(const RankView& tile);
/// Points of the label space that are computed for the view's tiles.
[[nodiscard]] double points_in(const RankView& view);
/// Panels of a reduce label, as a rank goes through them.
[[nodiscard]] Index panel_count(const Op& op, const OpPlan& plan, std::size_t k);

/// Of all ranks together about this many pieces are listed; of boxes beyond that there are bounds.
inline constexpr Index kListedPieces = 1 << 18;

/// A box inside one block of an operand that a rank fetches; or a box of several blocks, of which it fetches some or
/// all.
struct WantedPiece {
  TensorId tensor = -1;
  Index block = 0;  ///< row-major; -1: of several
  std::vector<Interval> box;
  Index super_block = 0;
  Index panel = 0;   ///< the first that needs it
  double bytes = 0;  ///< of a sized tensor: as if it were not
  double boxes = 1;  ///< one per block
};

struct Wanted {
  std::vector<WantedPiece> pieces;  ///< each once per super-block
  bool exact = true;                ///< all are of one block
  double read_bytes = 0;            ///< of all boxes that its tasks touch, each once per super-block, wherever they lie
};
[[nodiscard]] Wanted wanted_by(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank);

/// Which tiles of a tensor a rank has, of copies those of its own.
class OwnTiles {
 public:
  OwnTiles(const Distribution& where, Index rank);
  [[nodiscard]] bool has(const std::vector<Index>& tile) const;

 private:
  const Distribution* where_;
  Index rank_;
  bool everything_ = false;
  bool nothing_ = false;
  std::vector<std::vector<bool>> along_;  ///< per dimension and tile; tables have none
};

/// Of the product of disjoint sorted lists, one per dimension: elements in those tiles of a table that are the rank's
/// own.
[[nodiscard]] double measure_owned(const Distribution& table, Index rank, const std::vector<Intervals>& lists);
/// How many pieces it is cut into by these tiles.
[[nodiscard]] double count_owned(const Distribution& table, Index rank, const std::vector<Intervals>& lists);

}  // namespace tdsl::plan::counting
