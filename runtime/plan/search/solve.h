#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/search/eliminate.h"
#include "runtime/plan/search/linearise.h"
#include "runtime/plan/search/network.h"

// The search for the cheapest assignment of a network. Dead ends are dropped; what is left is eliminated if the tables
// stay small, which gives the minimum. Else forests descend from three starts, and the cheapest end is taken:
//
//     1. the given start (the greedy plan),
//     2. the linearised network,
//     3. the network with the few locally cheapest values of every variable and those of the better of 1 and 2: its
//     minimum, if that can
//        be eliminated, else where a descent from there leads.

namespace tdsl::plan {

struct SearchLimits {
  Index work = Index{1} << 29;      ///< table entries read, about, as what has begun is ended; a second or two
  Index table = kTableLimit;        ///< entries of a table of elimination
  Index messages = Index{1} << 24;  ///< entries that elimination keeps, of 8 bytes
  int rounds = 60;                  ///< of each descent, and
  int stale = 8;                    ///< those without a gain after which it ends
  int cheapest = 8;                 ///< values per variable in start 3
  std::uint64_t seed = 1;
};

struct Solution {
  Assignment values;
  double cost = kForbidden;  ///< kForbidden: none was found that is allowed, and there is none if `exact`
  bool exact = false;        ///< the minimum
  Index work = 0;
  Index largest_table = 0;  ///< of elimination, or the first that it would need beyond the limits
};

/// `start` may be empty; if it is not, the solution costs no more. `arcs`: producers and consumers, for start 2. The
/// answer is a function of the arguments alone.
[[nodiscard]] Solution solve(const Network& network, const Assignment& start, const std::vector<Arc>& arcs,
                             const SearchLimits& limits = {});

}  // namespace tdsl::plan
