#include "runtime/plan/cost/panel_cuts.h"

namespace tdsl::plan::counting {

namespace {

/// True if an element begins a tile.
bool begins_tile(const Tiling& tiling, Index element) {
  return element > 0 && element < tiling.extent() && tiling.tile(tiling.tile_of(element)).lo == element;
}

}  // namespace

std::optional<PanelCuts> PanelCuts::of(const RankView& v, const DimAccess& dim, Index extent) {
  if (dim.whole || dim.divisor != 1 || dim.offset.size() != 1 || dim.terms.size() != 1) return std::nullopt;
  const Affine::Term& term = dim.terms.front();
  const Tiling* const panels = v.panels[idx(term.label)];
  if (panels == nullptr || term.coefficient != 1) return std::nullopt;
  const Index first = dim.offset.lo + v.label[idx(term.label)].front().lo;
  if (first < 0 || first + panels->extent() > extent) return std::nullopt;
  return PanelCuts(*panels, first);
}

Index PanelCuts::panels_in(Interval inside) const {
  return panels_->tiles_meeting({inside.lo - shift_, inside.hi - shift_}).size();
}

Index PanelCuts::common_ends(Interval inside, const Tiling& tiling) const {
  const Interval tiles = tiling.tiles_meeting(inside);
  if (shift_ == 0 && tiling == *panels_) return tiles.size() - 1;
  const Interval panels = panels_->tiles_meeting({inside.lo - shift_, inside.hi - shift_});
  Index count = 0;
  if (tiles.size() <= panels.size()) {
    for (Index t = tiles.lo + 1; t < tiles.hi; ++t) count += begins_tile(*panels_, tiling.tile(t).lo - shift_) ? 1 : 0;
  } else {
    for (Index p = panels.lo + 1; p < panels.hi; ++p)
      count += begins_tile(tiling, panels_->tile(p).lo + shift_) ? 1 : 0;
  }
  return count;
}

Index PanelCuts::pieces(Interval inside, const Tiling& tiling) const {
  const Interval both = intersect(inside, elements());
  if (both.empty()) return 0;
  return panels_in(both) + tiling.tiles_meeting(both).size() - 1 - common_ends(both, tiling);
}

bool PanelCuts::cross(const Tiling& tiling) const {
  const Index tiles = tiling.tiles_meeting(elements()).size();
  return tiles > panels_->tiles() || common_ends(elements(), tiling) < tiles - 1;
}

bool PanelCuts::are_tiles(const Tiling& tiling) const {
  const Interval tiles = tiling.tiles_meeting(elements());
  return !cross(tiling) && tiles.size() == panels_->tiles() && tiling.tile(tiles.lo).lo == elements().lo &&
         tiling.tile(tiles.hi - 1).hi == elements().hi;
}

}  // namespace tdsl::plan::counting
