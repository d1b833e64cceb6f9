#pragma once

#include <vector>

#include "runtime/plan/space/candidates.h"
#include "runtime/plan/space/tiles.h"

// What a task of an operation reads and computes, from extents alone.

namespace tdsl::plan {

/// Longest edges of a product's tasks, per label. kContractionEdge, and more along a label beside which the others are
/// short: then no block of an operand or of the result has more than `block` elements. X' (X v) with 10 columns is cut
/// at 100,000 rows, not at 1024. None is shorter than `least`.
[[nodiscard]] std::vector<Index> longest_edges(const Op& op, Index block, Index least = kContractionEdge);
/// Of an operation that is no product: nothing bounds them but blocks of its operands.
[[nodiscard]] std::vector<Index> longest_reduced(const Op& op, const Operands& operands, Index block);

/// Elements of the largest block that `longest_edges` may allow: less than kProductBlock where --window or --memory is
/// small. Under
/// `--reproducible` cuts depend on extents alone and are not asked.
[[nodiscard]] Index largest_block(const Op& op, const PlanInputs& inputs);

/// Work that is bound by memory: every element of operands and result belongs to few points.
struct Stream {
  bool bound = false;
  double bytes = 0;             ///< of operands per element of the result
  double flops = 0;             ///< per element of the result
  std::vector<Index> thinnest;  ///< edges of the result's tiles that are still worth a task
};
[[nodiscard]] Stream stream_of(const Op& op, const Operands& operands);

}  // namespace tdsl::plan
