#pragma once

#include <vector>

#include "runtime/plan/planner.h"
#include "runtime/plan/region/region.h"

// Block grids of tensors before scheduling: NumS's automatic grid for sources; results are cut like their operands, so
// that blocks used together have equal cuts.

namespace tdsl::plan {

/// The inputs of an automatic grid.
struct GridRequest {
  std::vector<Index> shape;
  Index element_bytes = 8;
  std::vector<Index> cluster;  ///< nodes, or ranks, per dimension of their grid
  Index cores = 1;             ///< approximate number of blocks
  double least_bytes = 1e8;    ///< smaller tensors are a single block
};

/// Blocks per dimension, as NumS chooses them: cores^w along a dimension with share w of the extents weighted by the
/// softmax of the cluster's shape, rounded down; the loss is made up along the longest dimension. Powers within 1e-9 of
/// an integer are taken as that integer.
///   shape 10000 x 10000, cluster 1 x 1, 64 cores: 8 x 8;      1e9 x 250: 64 x 1;      6 cores: 3 x 2
[[nodiscard]] std::vector<Index> automatic_grid(const GridRequest& request);

/// Parameters of automatic grids.
struct GridSettings {
  std::vector<Index> cluster{1};
  Index cores = 1;
  double least_bytes = 64 * 1024;  ///< NumS's 1e8 assumes gigabytes per core
};

/// The cut of an operation: its result, and its reduce labels.
struct BlockCut {
  std::vector<Tiling> out;
  std::vector<Tiling> reduce;
};

/// Cuts of a region's operations, in order. Prescribed tiles (`--tile`, annotations, `--reproducible`) are kept.
[[nodiscard]] std::vector<BlockCut> block_cuts(const Region& region, const PlanInputs& inputs,
                                               const GridSettings& settings);

}  // namespace tdsl::plan
