#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "runtime/sparse/block.h"

namespace tdsl::rt::sparse {

/// A range of the outermost level of a block, as a block: it is sent as contiguous runs of the owner's memory, two per
/// level and the values, and needs no memory there.
struct Piece {
  struct Run {
    Index from = 0;  ///< bytes from the beginning of the block
    Index to = 0;    ///< bytes from the beginning of the piece
    Index bytes = 0;
  };
  BlockHead head;         ///< of the piece; bytes = 0: nothing is stored there
  std::vector<Run> runs;  ///< what follows the head
};

/// `outer`: coordinates [lo, hi) from the tile's corner.
struct OuterRange {
  Index lo = 0;
  Index hi = 0;
};
[[nodiscard]] Piece piece_of(const BlockHead& block, OuterRange outer);
/// The same of a block that is not in memory: `read` gets `bytes`, from byte `from` of the block on. A few of them are
/// looked at.
using BlockReader = std::function<void(Index from, std::span<std::byte> bytes)>;
[[nodiscard]] Piece piece_of(const BlockHead& head, OuterRange outer, const BlockReader& read);

/// Once head and runs have arrived at `piece`: positions count from the piece's own beginning. Coordinates go on
/// counting from the tile's corner; where the outermost level is dense, its first node is coordinate `outer.lo`.
void rebase(BlockHead& piece);

}  // namespace tdsl::rt::sparse
