#pragma once

#include <cstdint>

#include "runtime/plan/search/network.h"

// Descent over forests, for networks too wide for elimination. Each round takes a random maximal set of variables that
// induces a forest and sets all of them to their joint optimum with the others fixed: exact dynamic programming over
// trees. Half of the variables or more move together, which leaves far fewer local minima than moving one at a time.

namespace tdsl::plan {

struct ForestLimits {
  int rounds = 60;
  int stale = 8;           ///< consecutive rounds without a gain before stopping
  std::uint64_t seed = 1;  ///< of the choice of forests: reproducible across compilers and libraries
  Index work = Index{1} << 40;
};

/// An assignment that costs no more than `start`. If `start` is forbidden, separate rounds first minimise the number of
/// its forbidden entries, then the cost; the cost stays kForbidden if they find no allowed assignment.
[[nodiscard]] Answer descend(const Network& network, const Assignment& start, const ForestLimits& limits = {});

}  // namespace tdsl::plan
