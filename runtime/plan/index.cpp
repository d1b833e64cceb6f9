#include "runtime/plan/index.h"

namespace tdsl::plan {

namespace {
// Products of an extent and a tile count exceed 64 bits only for absurd inputs, but they must not overflow silently.
__extension__ using Wide = __int128;

Index scaled(Index t, Index n, Index tiles) { return static_cast<Index>(Wide{t} * n / tiles); }
}  // namespace

Tiling Tiling::near_equal(Index extent, Index tiles) {
  Tiling t;
  t.extent_ = extent;
  t.tiles_ = extent == 0 ? 0 : std::clamp<Index>(tiles, 1, extent);
  return t;
}

Tiling Tiling::fixed(Index extent, Index edge) {
  Tiling t;
  t.extent_ = extent;
  t.edge_ = std::max<Index>(edge, 1);
  t.tiles_ = extent / t.edge_ + (extent % t.edge_ != 0 ? 1 : 0);
  return t;
}

Interval Tiling::tile(Index t) const {
  if (edge_ > 0) return {t * edge_, std::min(extent_, (t + 1) * edge_)};
  return {scaled(t, extent_, tiles_), scaled(t + 1, extent_, tiles_)};
}

Index Tiling::tile_of(Index x) const {
  if (edge_ > 0) return x / edge_;
  // The least t with (t+1) n / T > x (floor division), i.e. (t+1) n >= (x+1) T.
  const Wide needed = Wide{x + 1} * tiles_;
  return static_cast<Index>((needed + extent_ - 1) / extent_) - 1;
}

Interval Tiling::tiles_meeting(Interval elements) const {
  const Interval inside = intersect(elements, {0, extent_});
  if (inside.empty()) return {0, 0};
  return {tile_of(inside.lo), tile_of(inside.hi - 1) + 1};
}

Index Tiling::longest() const {
  if (tiles_ == 0) return 0;
  if (edge_ > 0) return std::min(edge_, extent_);
  return extent_ / tiles_ + (extent_ % tiles_ != 0 ? 1 : 0);
}

}  // namespace tdsl::plan
