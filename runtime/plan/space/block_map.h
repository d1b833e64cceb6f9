#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/space/index.h"

namespace tdsl::plan {

/// `ranks` ranks in columns of floor(ranks / count) or, first, one more, for numbers of ranks without near-square
/// factors. Each column has its ranks' share of the column dimension; its ranks have near-equal shares of the row
/// dimension. All shares are in whole tiles, or blocks.
struct RankColumns {
  Index ranks = 1;
  Index count = 1;
  int row_dim = 0;
  int column_dim = 1;
  friend bool operator==(const RankColumns&, const RankColumns&) = default;

  [[nodiscard]] Index height(Index column) const;      ///< ranks in the column
  [[nodiscard]] Index first_rank(Index column) const;  ///< its first rank
  [[nodiscard]] Index column_of(Index rank) const;
  /// The rank's part of the `tiles` tiles of dimension d.
  [[nodiscard]] Interval tiles_of(Index rank, int d, Index tiles) const;
  /// The rank that owns the tile in this row and column of a grid of `rows` x `columns` tiles.
  [[nodiscard]] Index owner(Index row, Index rows, Index column, Index columns) const;
  /// Number of blocks into which dimension d is cut, so that every rank has whole ones: neighbouring columns have only
  /// their outer cuts in common.
  [[nodiscard]] Index blocks(int d) const;
};

/// A map of the blocks of a tensor, or of an operation's task space, to ranks: near-equal cuts of every dimension, and
/// an owner for each block.
///   - cyclic over a grid of ranks, the last dimension varying fastest. For 7 ranks, `cyclic 3x4 on 2x3 from 6`:
///         6 0 1 6
///         2 3 4 2      rank (6 + 3 (i mod 2) + j mod 3) mod 7 has block (i, j)
///         6 0 1 6
///   - ranks in columns: `columns 2 (i, j)`, a box of blocks per rank;
///   - a table: arbitrary owners.
struct BlockMap {
  std::vector<Index> blocks;           ///< per dimension
  std::vector<Index> over;             ///< cyclic: ranks per dimension
  Index first = 0;                     ///< cyclic: the owner of block 0
  std::vector<std::int32_t> owners{};  ///< table: row-major
  std::optional<RankColumns> columns{};
  friend bool operator==(const BlockMap&, const BlockMap&) = default;

  [[nodiscard]] bool cyclic() const { return !over.empty(); }
  [[nodiscard]] Index count() const;
  /// The owner of a block, by its coordinates.
  [[nodiscard]] Index owner(const std::vector<Index>& block, Index ranks) const;
};

/// The map of ranks in columns; dimensions after both of theirs are omitted.
[[nodiscard]] BlockMap block_map(const RankColumns& columns);
/// A map with these owners (row-major); cyclic if equivalent.
[[nodiscard]] BlockMap block_map(std::vector<Index> blocks, std::vector<std::int32_t> owners, Index ranks);

/// `cyclic 3x4 on 2x3 from 6`, `columns 2 (i, j)`, `table 2x2: 0*3 1` (rank 0 three times, then rank 1).
[[nodiscard]] std::string text_of(const BlockMap& map, const std::vector<std::string>& names);
/// Parses the output of text_of for at most the named dimensions and, in columns, `ranks` ranks; nothing if the text is
/// malformed or has more than kTableTiles blocks.
[[nodiscard]] std::optional<BlockMap> parse_block_map(std::string_view text, const std::vector<std::string>& names,
                                                      Index ranks);

/// Limit on the tiles of an owner table.
inline constexpr Index kTableTiles = 1'000'000;
/// An operation with more tasks is not placed by a table, because its cost is counted task by task.
inline constexpr double kTableTasks = 1 << 17;

}  // namespace tdsl::plan
