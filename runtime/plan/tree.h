#pragma once

#include <vector>

#include "runtime/plan/index.h"

// A box that several ranks fetch in the same step goes down a tree: its owner sends it to a few of them, they send it on.
// The tree is a function of the owner and of who wants the box, so that every rank knows its place without being told.

namespace tdsl::plan {

/// Fewer ranks get the box from its owner, each by itself.
inline constexpr Index kLeastTree = 4;

/// A rank's place in the tree of a box.
struct TreePlace {
  Index parent = 0;             ///< whom it asks
  std::vector<Index> children;  ///< who will ask it, those with the largest subtrees first
};

/// The place of `me`, which is the owner or one of `ranks`: ascending, the owner not among them. A binomial tree over the owner
/// and the ranks that follow it (after the last comes rank 0), so that boxes of different owners burden different ranks:
///
///     position  0 -> 4 -> 6 -> 7        0 is the owner; parent(x) is x without its lowest bit
///               |    +--> 5
///               +--> 2 -> 3
///               +--> 1
[[nodiscard]] TreePlace place_in_tree(const std::vector<Index>& ranks, Index owner, Index me);

/// How many ask the owner itself when that many want the box.
[[nodiscard]] Index children_of_owner(Index ranks);

}  // namespace tdsl::plan
