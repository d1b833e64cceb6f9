#pragma once

#include "runtime/plan/workflow/workflow.h"

// NumS's load-simulated hierarchical scheduling (LSHS).

namespace tdsl::plan {

/// Nodes as a grid, and the ranks of each: rank = node x workers + worker, with the grid's last dimension varying
/// fastest.
struct NodeGrid {
  std::vector<Index> nodes{1};
  Index workers = 1;
  [[nodiscard]] Index ranks() const;
};

/// The hierarchical layout of a grid of blocks, row-major: block (i, j) on node (i mod g1) g2 + j mod g2, and the
/// blocks of a node round-robin over its ranks. Dimensions missing in the other grid count as one.
[[nodiscard]] std::vector<std::int32_t> hierarchical_layout(const std::vector<Index>& blocks, const NodeGrid& grid);

/// Simulated bytes held, received and sent by every rank.
struct ClusterLoads {
  std::vector<double> memory;
  std::vector<double> in;
  std::vector<double> out;
};

struct LshsLoads {
  ClusterLoads created;    ///< after the Loads alone
  ClusterLoads scheduled;  ///< after all tasks
};

/// Assigns a process to every task. Loads use the hierarchical layout. Then tasks with available inputs are taken in
/// random order (fixed seed), and each is assigned to the rank, among those with one of its operands, that minimises
/// max(memory) + max(in) + max(out); ties go to the lowest rank. A block counts as memory where it is created and where
/// it is copied to; a copy counts as inbound there and as outbound on the rank that created the block, at a tenth
/// within a node. A Reduce begins when all its inputs exist, and adds two at a time: from one rank if possible, else
/// from one node, else in rank order. Results that outlive the region, or are written or printed, have their last
/// operation at the block's place in the hierarchical layout.
LshsLoads schedule_lshs(const Region& region, const NodeGrid& grid, Workflow& workflow);

}  // namespace tdsl::plan
