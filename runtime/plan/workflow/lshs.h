#pragma once

#include "runtime/plan/workflow/workflow.h"

// NumS's load simulated hierarchical scheduling.

namespace tdsl::plan {

/// Nodes as a grid, and the ranks of each: rank = node x workers + worker, the grid's last dimension fastest.
struct NodeGrid {
  std::vector<Index> nodes{1};
  Index workers = 1;
  [[nodiscard]] Index ranks() const;
};

/// The hierarchical layout of a grid of blocks, row-major: block (i, j) on node (i mod g1) g2 + j mod g2, the blocks of
/// a node on its ranks in turn. Dimensions beyond those of the other grid count as one.
[[nodiscard]] std::vector<std::int32_t> hierarchical_layout(const std::vector<Index>& blocks, const NodeGrid& grid);

/// Bytes that every rank has held, received and sent, as simulated.
struct ClusterLoads {
  std::vector<double> memory;
  std::vector<double> in;
  std::vector<double> out;
};

struct LshsLoads {
  ClusterLoads created;    ///< with the Loads alone
  ClusterLoads scheduled;  ///< with all tasks
};

/// Gives every task a process. Loads lie in the hierarchical layout. Then tasks whose inputs are there are taken in
/// random order (fixed seed), and each goes to that of the ranks with one of its operands which gives the least
/// max(memory) + max(in) + max(out); ties to the lowest rank. A block counts as memory where it is made and where it is
/// copied to, a copy as received there and as sent by the rank that made the block; within a node a tenth. A Reduce
/// begins when all its inputs are there, and adds two at a time: of one rank, else of one node, else in the order of
/// ranks. What outlives the region, or is written or printed, has its last operation where the hierarchical layout
/// wants the block.
LshsLoads schedule_lshs(const Region& region, const NodeGrid& grid, Workflow& workflow);

}  // namespace tdsl::plan
