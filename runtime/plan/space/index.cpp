#include "runtime/plan/space/index.h"

#include <algorithm>
#include <mutex>
#include <set>

namespace tdsl::plan {

namespace {
// Products of an extent and a tile count exceed 64 bits only for absurd inputs, but they must not overflow silently.
// 128-bit divisions take several times as long as 64-bit ones, and planning does millions.
__extension__ using Wide = __int128;

Index scaled(Index t, Index n, Index tiles) {
  Index narrow = 0;
  if (!__builtin_mul_overflow(t, n, &narrow)) return narrow / tiles;
  return static_cast<Index>(Wide{t} * n / tiles);
}
}  // namespace

Tiling Tiling::near_equal(Index extent, Index tiles, Index unit) {
  Tiling t;
  t.extent_ = extent;
  t.unit_ = unit;
  t.tiles_ = extent == 0 ? 0 : std::clamp<Index>(tiles, 1, t.units());
  return t;
}

Tiling Tiling::fixed(Index extent, Index edge) {
  Tiling t;
  t.extent_ = extent;
  t.edge_ = std::max<Index>(edge, 1);
  t.tiles_ = extent / t.edge_ + (extent % t.edge_ != 0 ? 1 : 0);
  return t;
}

Tiling Tiling::at(const std::vector<Index>& ends) {
  static std::mutex mutex;
  static auto* const lists = new std::set<std::vector<Index>>();
  Tiling t;
  if (ends.empty() || ends.back() == 0) return t;
  t.extent_ = ends.back();
  t.tiles_ = static_cast<Index>(ends.size());
  const std::scoped_lock lock(mutex);
  t.ends_ = &*lists->insert(ends).first;
  return t;
}

Interval Tiling::tile(Index t) const {
  if (ends_ != nullptr)
    return {t == 0 ? 0 : (*ends_)[static_cast<std::size_t>(t) - 1], (*ends_)[static_cast<std::size_t>(t)]};
  if (edge_ > 0) return {t * edge_, std::min(extent_, (t + 1) * edge_)};
  return {scaled(t, units(), tiles_) * unit_, std::min(extent_, scaled(t + 1, units(), tiles_) * unit_)};
}

Index Tiling::tile_of(Index x) const {
  if (ends_ != nullptr) return std::upper_bound(ends_->begin(), ends_->end(), x) - ends_->begin();
  if (edge_ > 0) return x / edge_;
  // In units: the least t with (t+1) n / T > x (floor division), i.e. (t+1) n >= (x+1) T.
  Index narrow = 0;
  if (!__builtin_mul_overflow(x / unit_ + 1, tiles_, &narrow) && !__builtin_add_overflow(narrow, units() - 1, &narrow))
    return narrow / units() - 1;
  const Wide needed = Wide{x / unit_ + 1} * tiles_;
  return static_cast<Index>((needed + units() - 1) / units()) - 1;
}

Interval Tiling::tiles_meeting(Interval elements) const {
  const Interval inside = intersect(elements, {0, extent_});
  if (inside.empty()) return {0, 0};
  return {tile_of(inside.lo), tile_of(inside.hi - 1) + 1};
}

Index Tiling::shortest() const {
  if (tiles_ == 0) return 0;
  Index least = tile(tiles_ - 1).size();
  if (edge_ > 0) return least;
  if (ends_ == nullptr) return std::min(least, units() / tiles_ * unit_);
  for (std::size_t t = 0; t < ends_->size(); ++t) least = std::min(least, (*ends_)[t] - (t > 0 ? (*ends_)[t - 1] : 0));
  return least;
}

Index Tiling::longest() const {
  if (tiles_ == 0) return 0;
  if (edge_ > 0) return std::min(edge_, extent_);
  if (ends_ != nullptr) {
    Index longest = ends_->front();
    for (std::size_t t = 1; t < ends_->size(); ++t) longest = std::max(longest, (*ends_)[t] - (*ends_)[t - 1]);
    return longest;
  }
  // The last tile has as many units as any other and includes the short unit.
  const Index most = ceil_div(units(), tiles_);
  const Index with_most = units() % tiles_ == 0 ? tiles_ : units() % tiles_;
  return with_most > 1 ? most * unit_ : std::max(tile(tiles_ - 1).size(), (most - 1) * unit_);
}

}  // namespace tdsl::plan
