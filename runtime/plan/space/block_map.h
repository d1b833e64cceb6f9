#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/space/index.h"

namespace tdsl::plan {

/// A map of the blocks of a tensor, or of an operation's task space, to ranks: near-equal cuts of every dimension, and
/// an owner for each block.
///   - cyclic over a grid of ranks, the last dimension varying fastest. For 7 ranks, `cyclic 3x4 on 2x3 from 6`:
///         6 0 1 6
///         2 3 4 2      rank (6 + 3 (i mod 2) + j mod 3) mod 7 has block (i, j)
///         6 0 1 6
///   - a table: arbitrary owners.
struct BlockMap {
  std::vector<Index> blocks;           ///< per dimension
  std::vector<Index> over;             ///< cyclic: ranks per dimension; empty: a table
  Index first = 0;                     ///< cyclic: the owner of block 0
  std::vector<std::int32_t> owners{};  ///< table: row-major
  friend bool operator==(const BlockMap&, const BlockMap&) = default;

  [[nodiscard]] bool cyclic() const { return !over.empty(); }
  [[nodiscard]] Index count() const;
  /// The owner of a block, by its coordinates.
  [[nodiscard]] Index owner(const std::vector<Index>& block, Index ranks) const;
};

/// A map with these owners (row-major); cyclic if equivalent.
[[nodiscard]] BlockMap block_map(std::vector<Index> blocks, std::vector<std::int32_t> owners, Index ranks);

/// `cyclic 3x4 on 2x3 from 6`, `table 2x2: 0*3 1` (rank 0 three times, then rank 1).
[[nodiscard]] std::string text_of(const BlockMap& map);
/// Parses the output of text_of for at most `dimensions` dimensions; nothing if the text is malformed or has more than
/// kTableTiles blocks.
[[nodiscard]] std::optional<BlockMap> parse_block_map(std::string_view text, std::size_t dimensions);

/// Limit on the tiles of an owner table.
inline constexpr Index kTableTiles = 1'000'000;
/// An operation with more tasks is not placed by a table, because its cost is counted task by task.
inline constexpr double kTableTasks = 1 << 17;

}  // namespace tdsl::plan
