#pragma once

#include <vector>

#include "runtime/plan/planner.h"
#include "runtime/plan/region/region.h"

// How many blocks tensors have before anything is scheduled: NumS's automatic grid for sources; results are cut as
// their operands are, so that blocks that meet are cut alike.

namespace tdsl::plan {

/// What an automatic grid is a function of.
struct GridRequest {
  std::vector<Index> shape;
  Index element_bytes = 8;
  std::vector<Index> cluster;  ///< nodes, or ranks, per dimension of a grid of them
  Index cores = 1;             ///< about as many blocks
  double least_bytes = 1e8;    ///< a smaller tensor is one block
};

/// Blocks per dimension, as NumS chooses them: cores^w along a dimension whose share of the extents, weighted by the
/// softmax of the cluster's shape, is w; rounded down, what is lost added to the longest dimension. Powers within 1e-9
/// of an integer are that integer.
///     shape 10000 x 10000, cluster 1 x 1, 64 cores: 8 x 8;      1e9 x 250: 64 x 1;      6 cores: 3 x 2
[[nodiscard]] std::vector<Index> automatic_grid(const GridRequest& request);

/// Where automatic grids take their numbers from.
struct GridSettings {
  std::vector<Index> cluster{1};
  Index cores = 1;
  double least_bytes = 64 * 1024;  ///< NumS's 1e8 is meant for cores that have gigabytes each
};

/// How an operation is cut: its result, and its reduce labels.
struct BlockCut {
  std::vector<Tiling> out;
  std::vector<Tiling> reduce;
};

/// Cuts of a region's operations, in order. Tiles that are given (`--tile`, annotations, `--reproducible`) stay as they
/// are.
[[nodiscard]] std::vector<BlockCut> block_cuts(const Region& region, const PlanInputs& inputs,
                                               const GridSettings& settings);

}  // namespace tdsl::plan
