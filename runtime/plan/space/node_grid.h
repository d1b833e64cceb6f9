#pragma once

#include <vector>

#include "runtime/plan/space/distribution.h"

// A two-level processor grid: nodes form a grid, and so do the ranks within each node. An axis with f coordinates has f
// / g nodes of g ranks each; coordinate c is rank c mod g of node c / g along it. 16 ranks 4 x 4, 4 per node, for
// C[i,j] = sum[k](A[i,k] B[k,j]) with i down and j across:
//
//     row-major order      2 x 2 nodes of 2 x 2 ranks
//      0  1  2  3               0  1 |  4  5           A node in row-major order needs a quarter of A and all of B,
//      4  5  6  7               2  3 |  6  7           a node of 2 x 2 ranks half of each.
//     -----------              -------+------
//      8  9 10 11               8  9 | 12 13
//     12 13 14 15              10 11 | 14 15

namespace tdsl::plan {

/// An operand from the grid's point of view.
struct GridOperand {
  double bytes = 0;
  std::vector<bool> along;  ///< per axis: different coordinates need different elements
};

/// Number of ranks of a node along each axis: divisors of `factors` whose product is `ranks_per_node`, which divides
/// that of the factors. Chosen to minimise the operand bytes that enter a node; operands are spread over all ranks, so
/// the locally owned share is the same for all choices. Ties go to the choice nearest to row-major order: as many ranks
/// as possible along the last axes.
[[nodiscard]] std::vector<Index> node_grid(const std::vector<Index>& factors, Index ranks_per_node,
                                           const std::vector<GridOperand>& operands);

/// The axes of every dimension of such a grid, with nodes and the ranks within them numbered in row-major order; one
/// axis if nodes make no difference, none for a factor of 1. `inner` all 1: nodes are ignored.
[[nodiscard]] std::vector<std::vector<GridAxis>> grid_axes(const std::vector<Index>& factors,
                                                           const std::vector<Index>& inner);

}  // namespace tdsl::plan
