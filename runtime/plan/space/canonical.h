#pragma once

#include <vector>

#include "runtime/plan/space/candidates.h"

// Cuts of operations under `--reproducible`: functions of extents, types, annotations and --tile alone, independent of
// ranks, threads and memory. Only owners depend on ranks, so every task is the same task everywhere.

namespace tdsl::plan {

/// The cuts of one operation.
struct Cuts {
  struct Reduction {
    Tiling tiling;
    Index per_part = 0;  ///< tiles per partial result; 0: the label is not split into parts
    [[nodiscard]] Index parts() const { return per_part == 0 ? 1 : (tiling.tiles() + per_part - 1) / per_part; }
  };
  std::vector<Tiling> out;        ///< per output dimension
  std::vector<Reduction> reduce;  ///< per reduce label
};

/// Cuts of the operation as recorded. Placed operands keep their cuts, which are canonical by induction.
[[nodiscard]] Cuts canonical_cuts(const Op& op, const std::vector<Index>& tile, const Operands& operands);

/// Tiles of a tensor that is not placed yet: its annotation, else --tile, else derived from its shape (for a sized
/// tensor, cut_extents). `extents`: the extents to cut.
[[nodiscard]] std::vector<Tiling> canonical_tiles(const std::vector<Index>& shape, const std::vector<Index>& annotation,
                                                  const std::vector<Index>& tile, const std::vector<Index>& extents);

}  // namespace tdsl::plan
