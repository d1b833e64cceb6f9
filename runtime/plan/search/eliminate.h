#pragma once

#include <optional>
#include <vector>

#include "runtime/plan/search/network.h"

// Variable elimination (bucket elimination): the exact minimum. A variable v is replaced by a table over its
// neighbours,
//
//     message(neighbours) = min over values of v of (own costs of v + tables between v and the neighbours + earlier
//     messages at v),
//
// which makes the neighbours each other's. Time and memory are those of the tables: small where the network is nearly a
// tree, as programs mostly are, and exponential in its width otherwise, so that the sizes are found first and too large
// ones refused.

namespace tdsl::plan {

/// The largest table, over a variable and its neighbours, that elimination is to fill.
inline constexpr Index kTableLimit = Index{1} << 22;

/// In which order variables are eliminated, and what that takes.
struct EliminationOrder {
  std::vector<int>
      variables;       ///< those with two values or more, unless a table exceeds the limit: then those before it
  Index largest = 0;   ///< entries of the largest table, the one that exceeds the limit included
  Index entries = 0;   ///< of all tables: the work
  Index messages = 0;  ///< of those over the neighbours alone, which are kept: the memory
  bool fits = false;
};

/// Always the variable next that leaves the least table, of equal ones the first. Variables whose own table has more
/// than `limit` entries wait; where only such are left, the order ends.
[[nodiscard]] EliminationOrder elimination_order(const Network& network, Index limit = kTableLimit);

/// The minimum, and the first values that give it from the last eliminated variable to the first. The cost is
/// kForbidden if no assignment is allowed. `order` fits.
[[nodiscard]] Answer eliminate(const Network& network, const EliminationOrder& order);

/// The same in the order above; nothing if that does not fit `limit`.
[[nodiscard]] std::optional<Answer> eliminate(const Network& network, Index limit = kTableLimit);

/// Costs per variable and value.
using Marginals = std::vector<std::vector<double>>;

/// Min-marginals: the least cost of an assignment with the value. Twice the work of elimination and its memory. `order`
/// fits.
[[nodiscard]] Marginals min_marginals(const Network& network, const EliminationOrder& order);

/// The same in the order above; nothing if that does not fit `limit`.
[[nodiscard]] std::optional<Marginals> min_marginals(const Network& network, Index limit = kTableLimit);

}  // namespace tdsl::plan
