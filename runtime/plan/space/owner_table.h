#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/plan/space/block_map.h"

namespace tdsl::plan {

/// The owner of each tile (row-major), and each rank's tiles in order. At most kTableTiles, 12 bytes each; shared by
/// all distributions that use it, and represented by its hash in decision keys.
class OwnerTable {
 public:
  /// Throws std::logic_error for invalid owners and too many tiles.
  OwnerTable(Index ranks, std::vector<std::int32_t> owners);

  [[nodiscard]] Index ranks() const { return static_cast<Index>(first_.size()) - 1; }
  [[nodiscard]] Index size() const { return static_cast<Index>(owners_.size()); }
  [[nodiscard]] Index owner(Index tile) const { return owners_[static_cast<std::size_t>(tile)]; }
  /// Ascending.
  [[nodiscard]] std::span<const std::int32_t> tiles_of(Index rank) const {
    const auto begin = first_[static_cast<std::size_t>(rank)], end = first_[static_cast<std::size_t>(rank) + 1];
    return {tiles_.data() + begin, static_cast<std::size_t>(end - begin)};
  }
  /// Position of the tile in its owner's list.
  [[nodiscard]] Index position(Index tile) const { return position_[static_cast<std::size_t>(tile)]; }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  friend bool operator==(const OwnerTable& a, const OwnerTable& b) {
    return a.hash_ == b.hash_ && a.owners_ == b.owners_;
  }

 private:
  std::vector<std::int32_t> owners_;
  std::vector<std::int32_t> first_;  ///< per rank: start of its list in `tiles_`
  std::vector<std::int32_t> tiles_;
  std::vector<std::int32_t> position_;
  std::uint64_t hash_ = 0;
};

}  // namespace tdsl::plan
