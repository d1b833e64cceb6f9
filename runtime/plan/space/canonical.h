#pragma once

#include <vector>

#include "runtime/plan/space/candidates.h"

// Where operations are cut under `--reproducible`: functions of extents, types, annotations and --tile alone, whatever
// the ranks, threads and memory. Only owners depend on ranks then, so every task is the same task everywhere.

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

/// Of the operation as recorded. Operands that are placed keep their cuts, which are canonical by induction.
[[nodiscard]] Cuts canonical_cuts(const Op& op, const std::vector<Index>& tile, const Operands& operands);

/// Of a tensor nobody has placed: its annotation, else --tile, else as its shape says (of a sized one cut_extents).
/// `extents`: what is cut.
[[nodiscard]] std::vector<Tiling> canonical_tiles(const std::vector<Index>& shape, const std::vector<Index>& annotation,
                                                  const std::vector<Index>& tile, const std::vector<Index>& extents);

}  // namespace tdsl::plan
