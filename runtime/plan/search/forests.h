#pragma once

#include <cstdint>

#include "runtime/plan/search/network.h"

// Descent over forests, for networks that are too wide for elimination. A round takes a random maximal set of variables
// among which the edges make no cycle, and sets all of them at once to the best values they can have while the others
// keep theirs: dynamic programming over trees, exact. Half of the variables or more move together, which leaves far
// fewer dead ends than moving one at a time.

namespace tdsl::plan {

struct ForestLimits {
  int rounds = 60;
  int stale = 8;           ///< rounds without a gain after which it ends
  std::uint64_t seed = 1;  ///< of the choice of forests: the same with every compiler and library
  Index work = Index{1} << 40;
};

/// An assignment that costs no more than `start`. If `start` is forbidden, rounds of their own first make the number of
/// forbidden entries in it small, and cost among equal numbers; the cost stays kForbidden if they do not find an
/// allowed one.
[[nodiscard]] Answer descend(const Network& network, const Assignment& start, const ForestLimits& limits = {});

}  // namespace tdsl::plan
