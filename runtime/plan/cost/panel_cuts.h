#pragma once

#include <optional>

#include "runtime/plan/cost/rank_view.h"

namespace tdsl::plan::counting {

/// The panels of a reduce label along an operand dimension that this label alone subscripts: consecutive intervals, as
/// many as there are panels. Everything is counted from the tilings, without a list of them.
class PanelCuts {
 public:
  /// Nothing if the dimension is accessed in another way; then touched() lists the intervals.
  [[nodiscard]] static std::optional<PanelCuts> of(const RankView& v, const DimAccess& dim, Index extent);

  /// All accessed elements.
  [[nodiscard]] Interval elements() const { return {shift_, shift_ + panels_->extent()}; }
  [[nodiscard]] Index longest() const { return panels_->longest(); }
  /// The pieces that panels and tiles cut these elements into.
  [[nodiscard]] Index pieces(Interval inside, const Tiling& tiling) const;
  /// True if some panel contains elements of two tiles.
  [[nodiscard]] bool cross(const Tiling& tiling) const;
  /// True if every panel is a tile.
  [[nodiscard]] bool are_tiles(const Tiling& tiling) const;

 private:
  PanelCuts(const Tiling& panels, Index shift) : panels_(&panels), shift_(shift) {}
  [[nodiscard]] Index panels_in(Interval inside) const;
  /// Ends of tiles within these elements that are ends of panels as well.
  [[nodiscard]] Index common_ends(Interval inside, const Tiling& tiling) const;

  const Tiling* panels_;
  Index shift_;  ///< element where the first panel begins
};

}  // namespace tdsl::plan::counting
