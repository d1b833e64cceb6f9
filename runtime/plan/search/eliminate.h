#pragma once

#include <vector>

#include "runtime/plan/search/network.h"

// Variable elimination (bucket elimination): the exact minimum. A variable v is replaced by a table over its
// neighbours,
//
//     message(neighbours) = min over values of v of (own costs of v + tables between v and the neighbours
//                                                    + earlier messages at v),
//
// which makes them neighbours of each other. Time and memory are proportional to the tables: small if the network is
// nearly a tree, as for most programs, otherwise exponential in its width; so the sizes are computed first, and
// elimination is refused if they are too large.

namespace tdsl::plan {

/// The largest table, over a variable and its neighbours, that elimination may fill.
inline constexpr Index kTableLimit = Index{1} << 22;

/// An elimination order and its cost.
struct EliminationOrder {
  std::vector<int>
      variables;       ///< all with two values or more, unless a table exceeds the limit: then only those before it
  Index largest = 0;   ///< entries of the largest table, including one that exceeds the limit
  Index entries = 0;   ///< entries of all tables: the work
  Index messages = 0;  ///< entries of the messages, which are kept: the memory
  bool fits = false;
};

/// Greedy: the next variable is the one that leaves the smallest table, ties by number. Variables whose own table has
/// more than `limit` entries wait; if only such variables remain, the order ends.
[[nodiscard]] EliminationOrder elimination_order(const Network& network, Index limit = kTableLimit);

/// The minimum; among equal assignments, the first values from the last eliminated variable to the first. The cost is
/// kForbidden if no assignment is allowed. `order` must be complete.
[[nodiscard]] Answer eliminate(const Network& network, const EliminationOrder& order);

/// Costs per variable and value.
using Marginals = std::vector<std::vector<double>>;

/// Min-marginals: the least cost of an assignment with the given value. Twice the work and memory of elimination.
/// `order` must be complete.
[[nodiscard]] Marginals min_marginals(const Network& network, const EliminationOrder& order);

}  // namespace tdsl::plan
