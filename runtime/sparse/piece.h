#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "runtime/sparse/block.h"

namespace tdsl::rt::sparse {

/// A range of a block's outermost level, as a block of its own: sent as contiguous runs of the owner's memory (two per
/// level, plus the values) without packing. A coded block is always sent whole.
struct Piece {
  struct Run {
    Index from = 0;  ///< offset in the block, in bytes
    Index to = 0;    ///< offset in the piece, in bytes
    Index bytes = 0;
  };
  BlockHead head;         ///< of the piece; bytes = 0: no elements in the range
  std::vector<Run> runs;  ///< everything after the head
};

/// `outer`: coordinates [lo, hi) relative to the tile's corner.
struct OuterRange {
  Index lo = 0;
  Index hi = 0;
};
/// `read` fills `bytes` from offset `from` of the block, which need not be in memory. Only a few bytes are read.
using BlockReader = std::function<void(Index from, std::span<std::byte> bytes)>;
[[nodiscard]] Piece piece_of(const BlockHead& head, OuterRange outer, const BlockReader& read);

/// Call once head and runs have arrived at `piece`: makes positions relative to the piece. Coordinates remain relative
/// to the tile's corner; if the outermost level is dense, its first node has coordinate `outer.lo`.
void rebase(BlockHead& piece);

}  // namespace tdsl::rt::sparse
