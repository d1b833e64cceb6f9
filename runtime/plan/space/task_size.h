#pragma once

#include <vector>

#include "runtime/plan/space/candidates.h"
#include "runtime/plan/space/tiles.h"

// Task sizes, from extents alone.

namespace tdsl::plan {

/// Longest edges of a product's tasks, per label: kContractionEdge, and more along a label if the others are short, as
/// long as no block of an operand or of the result exceeds `block` elements. X' (X v) with 10 columns is cut at 100,000
/// rows, not at 1024. None is shorter than `least`. Labels that index the same operands share one edge, from the last
/// on: rows (i, ii) of a matrix in tiles of 16 have at most 64 and 16.
[[nodiscard]] std::vector<Index> longest_edges(const Op& op, Index block, Index least = kContractionEdge);
/// The same for operations other than products: bounded only by the blocks of their operands.
[[nodiscard]] std::vector<Index> longest_reduced(const Op& op, const Operands& operands, Index block);

/// Elements of the largest block that `longest_edges` may allow: less than kProductBlock if --window or --memory is
/// small. Not used under `--reproducible`, where cuts depend on extents alone.
[[nodiscard]] Index largest_block(const Op& op, const PlanInputs& inputs);

/// Memory-bound work: few points per element of operands and result.
struct Stream {
  bool bound = false;
  double bytes = 0;             ///< operand bytes per element of the result
  double flops = 0;             ///< per element of the result
  std::vector<Index> thinnest;  ///< edges of the result's tiles that are still worth a task
};
/// Predicted seconds of the whole operation on one thread; infinite if unknown: compressed tensors, files, loops.
[[nodiscard]] double seconds_alone(const Op& op, const Operands& operands, const Machine& machine);

[[nodiscard]] Stream stream_of(const Op& op, const Operands& operands);

}  // namespace tdsl::plan
