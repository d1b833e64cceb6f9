#pragma once

#include <vector>

#include "runtime/plan/space/index.h"

// A box that several ranks fetch in the same step goes down a tree: its owner sends it to a few of them, they send it
// on. The tree is a function of the owner, of who wants the box and of the nodes, so that every rank knows its place
// without being told.
//
// Nodes of R ranks, all ranks in order: rank r is on node r / R. A box enters a node once: one of the ranks that want
// it there, the node's *leader*, has it from the owner or from another leader, and its mates have it from the leader.
// So there is a tree over the owner and the leaders, and one in every node, each as if there were no nodes. R = 4,
// everybody wants a box of rank 1:
//
//     node 0: 1 -> 0, 2, 3
//             1 -> 5 on node 1: 5 -> 4, 6, 7
//             1 -> 9 on node 2: 9 -> 8, 10, 11

namespace tdsl::plan {

/// Fewer ranks, or leaders of nodes, get the box from its owner, each by itself.
inline constexpr Index kLeastTree = 4;

/// A rank's place in the tree of a box.
struct TreePlace {
  Index parent = 0;  ///< whom it asks
  std::vector<Index>
      children;  ///< who will ask it, those with the largest subtrees first, on other nodes before its own
};

/// The place of `me`, which is the owner or one of `ranks`: ascending, the owner not among them. Without nodes a
/// binomial tree over the owner and the ranks that follow it (after the last comes rank 0), so that boxes of different
/// owners burden different ranks:
///
///     position  0 -> 4 -> 6 -> 7        0 is the owner; parent(x) is x without its lowest bit
///               |    +--> 5
///               +--> 2 -> 3
///               +--> 1
///
/// A node's leader is the rank at the owner's place in its node, or the next one that wants the box (after the last
/// comes the first), for the same reason. Of children on other nodes and on its own, a rank has the others first.
[[nodiscard]] TreePlace place_in_tree(const std::vector<Index>& ranks, Index owner, Index me, Index ranks_per_node);

/// How many ask the owner itself when these ranks want the box.
[[nodiscard]] Index children_of_owner(const std::vector<Index>& ranks, Index owner, Index ranks_per_node);

/// Where fewer ranks fetch a box in a step, all of them ask its owner.
[[nodiscard]] inline Index least_tree(Index ranks_per_node) { return ranks_per_node > 1 ? 2 : kLeastTree; }

}  // namespace tdsl::plan
