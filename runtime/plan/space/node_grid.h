#pragma once

#include <vector>

#include "runtime/plan/space/distribution.h"

// A processor grid of two levels: nodes form a grid, and the ranks of each form one. An axis with f coordinates has f /
// g nodes of g ranks each; coordinate c is rank c mod g of node c / g along it. 16 ranks 4 x 4, 4 a node:
//
//     in row-major order      2 x 2 nodes of 2 x 2 ranks       C[i,j] = sum[k](A[i,k] B[k,j]), i down and j across: a
//     node
//      0  1  2  3               0  1 |  4  5                   on the left needs a quarter of A and all of B, on the
//      right half 4  5  6  7               2  3 |  6  7                   of each
//     -----------              -------+------
//      8  9 10 11               8  9 | 12 13
//     12 13 14 15              10 11 | 14 15

namespace tdsl::plan {

/// An operand as a grid sees it.
struct GridOperand {
  double bytes = 0;
  std::vector<bool> along;  ///< per axis: other coordinates need other elements
};

/// How many ranks of a node lie along each axis: divisors of `factors` with the product `ranks_per_node`, which divides
/// that of the factors. Of all such the one for which the fewest bytes of the operands enter a node; what a node has of
/// them anyway is the same for all, when they lie over all ranks. Among equal ones the nearest to row-major order: as
/// many as can be along the last axes.
[[nodiscard]] std::vector<Index> node_grid(const std::vector<Index>& factors, Index ranks_per_node,
                                           const std::vector<GridOperand>& operands);

/// The axes of every dimension of such a grid, nodes and the ranks in them numbered in row-major order; one where nodes
/// make no difference, none for a factor of 1. `inner` all 1: no nodes.
[[nodiscard]] std::vector<std::vector<GridAxis>> grid_axes(const std::vector<Index>& factors,
                                                           const std::vector<Index>& inner);

}  // namespace tdsl::plan
