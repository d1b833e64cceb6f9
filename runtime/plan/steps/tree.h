#pragma once

#include <vector>

#include "runtime/plan/space/index.h"

// A box that several ranks fetch in the same step is distributed by a tree: its owner sends it to a few ranks, which
// forward it. The tree is a function of the owner, the requesting ranks and the nodes, so every rank computes its
// position locally.
//
// Nodes have R ranks in order: rank r is on node r / R. A box enters a node once: one of its requesting ranks, the
// node's *leader*, receives it from the owner or from another leader, and forwards it to the others. So there is a tree
// over the owner and the leaders, and one in every node, each built as if there were no nodes. R = 4, all ranks request
// a box of rank 1:
//
//     node 0: 1 -> 0, 2, 3
//             1 -> 5 on node 1: 5 -> 4, 6, 7
//             1 -> 9 on node 2: 9 -> 8, 10, 11

namespace tdsl::plan {

/// With fewer ranks, or leaders of nodes, each requests the box from its owner directly.
inline constexpr Index kLeastTree = 4;

/// A rank's position in the tree of a box.
struct TreePlace {
  Index parent = 0;             ///< the rank it requests from
  std::vector<Index> children;  ///< the ranks that request from it, largest subtrees first, other nodes before its own
};

/// The position of `me`, which is the owner or one of `ranks` (ascending, without the owner). Without nodes, a binomial
/// tree over the owner and the ranks that follow it cyclically, so that boxes of different owners load different ranks:
///
///     position  0 -> 4 -> 6 -> 7        0 is the owner; parent(x) is x without its lowest bit
///               |    +--> 5
///               +--> 2 -> 3
///               +--> 1
///
/// For the same reason, a node's leader is the rank at the owner's position within its node, or the next requesting
/// rank (cyclically). A rank serves its children on other nodes before those on its own.
[[nodiscard]] TreePlace place_in_tree(const std::vector<Index>& ranks, Index owner, Index me, Index ranks_per_node);

/// Number of requests to the owner itself if these ranks fetch the box.
[[nodiscard]] Index children_of_owner(const std::vector<Index>& ranks, Index owner, Index ranks_per_node);

/// If fewer ranks fetch a box in a step, all of them request it from its owner.
[[nodiscard]] inline Index least_tree(Index ranks_per_node) { return ranks_per_node > 1 ? 2 : kLeastTree; }

}  // namespace tdsl::plan
