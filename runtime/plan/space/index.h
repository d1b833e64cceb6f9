#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tdsl::plan {

/// Counts of elements, tiles, bytes and ranks: always 64 bits.
using Index = std::int64_t;
inline constexpr int kMaxRank = 8;   ///< dimensions of a tensor
inline constexpr int kMaxDims = 24;  ///< dimensions of a task space: out dimensions and reduce labels

/// A dimension, label or rank as a container subscript.
[[nodiscard]] inline std::size_t idx(int d) { return static_cast<std::size_t>(d); }

[[nodiscard]] inline Index floor_div(Index a, Index b) {
  const Index q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
[[nodiscard]] inline Index ceil_div(Index a, Index b) { return -floor_div(-a, b); }

/// Product of nonnegative numbers, saturating at the largest 64-bit integer.
[[nodiscard]] inline Index product(Index a, Index b) {
  Index result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<Index>::max() : result;
}

/// Saturation limit for the number of elements of a box.
inline constexpr Index kMostVolume = Index{1} << 62;

/// Half-open range of element or tile numbers; empty if lo >= hi.
struct Interval {
  Index lo = 0;
  Index hi = 0;
  [[nodiscard]] Index size() const { return hi > lo ? hi - lo : 0; }
  [[nodiscard]] bool empty() const { return hi <= lo; }
  friend bool operator==(const Interval&, const Interval&) = default;
};
[[nodiscard]] inline Interval intersect(Interval a, Interval b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }

/// A box of up to kMaxRank dimensions; rank 0 is one point.
struct Box {
  int rank = 0;
  std::array<Interval, kMaxRank> dim{};

  /// Number of elements; saturates at kMostVolume.
  [[nodiscard]] Index volume() const {
    Index v = 1;
    for (int d = 0; d < rank; ++d) v = std::min(product(v, dim[static_cast<std::size_t>(d)].size()), kMostVolume);
    return v;
  }
  [[nodiscard]] bool empty() const { return volume() == 0; }
  Interval& operator[](int d) { return dim[static_cast<std::size_t>(d)]; }
  const Interval& operator[](int d) const { return dim[static_cast<std::size_t>(d)]; }
  friend bool operator==(const Box& a, const Box& b) {
    if (a.rank != b.rank) return false;
    for (int d = 0; d < a.rank; ++d) {
      if (!(a[d] == b[d])) return false;
    }
    return true;
  }
};
[[nodiscard]] inline Box intersect(const Box& a, const Box& b) {
  Box r;
  r.rank = a.rank;
  for (int d = 0; d < a.rank; ++d) r[d] = intersect(a[d], b[d]);
  return r;
}
[[nodiscard]] inline bool contains(const Box& outer, const Box& inner) {
  for (int d = 0; d < outer.rank; ++d) {
    if (inner[d].lo < outer[d].lo || inner[d].hi > outer[d].hi) return false;
  }
  return true;
}

/// Coordinates of a tile or task: one number per dimension.
struct Coord {
  int rank = 0;
  std::array<Index, kMaxDims> at{};
  Index& operator[](int d) { return at[static_cast<std::size_t>(d)]; }
  const Index& operator[](int d) const { return at[static_cast<std::size_t>(d)]; }
};

/// The cut of one dimension of `extent` elements into `tiles` tiles. Near-equal: tile t is [t n / T, (t+1) n / T); with
/// a `unit`, tiles are near-equal numbers of whole units, except that the last unit may be short. Fixed (`edge` > 0):
/// tile t is [t edge, min((t+1) edge, n)), with a short last tile. At cuts: tile t ends at ends[t]. An empty dimension
/// has no tiles.
class Tiling {
 public:
  Tiling() = default;
  [[nodiscard]] static Tiling near_equal(Index extent, Index tiles, Index unit = 1);
  [[nodiscard]] static Tiling fixed(Index extent, Index edge);
  /// Tiles with the given ends: ascending, above 0, the last one the extent. Distinct lists are interned and never
  /// freed.
  [[nodiscard]] static Tiling at(const std::vector<Index>& ends);

  [[nodiscard]] Index extent() const { return extent_; }
  [[nodiscard]] Index tiles() const { return tiles_; }
  [[nodiscard]] Index unit() const { return unit_; }
  /// The ends of tiles with explicit cuts; null for others.
  [[nodiscard]] const std::vector<Index>* ends() const { return ends_; }
  [[nodiscard]] Interval tile(Index t) const;
  /// The tile holding element x (0 <= x < extent).
  [[nodiscard]] Index tile_of(Index x) const;
  /// Tiles that overlap the element range (clipped to the dimension); empty if none.
  [[nodiscard]] Interval tiles_meeting(Interval elements) const;
  /// The longest and the shortest tile.
  [[nodiscard]] Index longest() const;
  [[nodiscard]] Index shortest() const;
  friend bool operator==(const Tiling&, const Tiling&) = default;

 private:
  Index extent_ = 0;
  Index tiles_ = 0;
  Index edge_ = 0;  ///< 0: near-equal
  Index unit_ = 1;
  const std::vector<Index>* ends_ = nullptr;  ///< interned: equal lists are the same pointer

  [[nodiscard]] Index units() const { return ceil_div(extent_, unit_); }
};

}  // namespace tdsl::plan
