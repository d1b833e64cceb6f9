#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/search/eliminate.h"
#include "runtime/plan/search/linearise.h"
#include "runtime/plan/search/network.h"

// Search for the cheapest assignment of a network. Dead ends are dropped; the rest is eliminated if the tables stay
// small, which gives the minimum. Otherwise forest descents from three starts are run and the cheapest result is taken:
//
//     1. the given start (the greedy plan),
//     2. the linearised network,
//     3. the network restricted to the few locally cheapest values of every variable and the values of the better of
//        1 and 2: its minimum if it can be eliminated, else the result of a descent within it.

namespace tdsl::plan {

struct SearchLimits {
  Index work =
      Index{1} << 29;  ///< approximate limit on table entries read (a running step is completed); a second or two
  Index table = kTableLimit;        ///< limit on the entries of an elimination table
  Index messages = Index{1} << 24;  ///< limit on the entries, of 8 bytes, that elimination keeps
  int rounds = 60;                  ///< of each descent, at most,
  int stale = 8;                    ///< and consecutive rounds without a gain before it stops
  int cheapest = 8;                 ///< values per variable in start 3
  std::uint64_t seed = 1;
};

struct Solution {
  Assignment values;
  double cost = kForbidden;  ///< kForbidden: no allowed assignment was found; if `exact`, there is none
  bool exact = false;        ///< proven minimum
  Index work = 0;
  Index largest_table = 0;  ///< of elimination, or the first table that would exceed the limits
};

/// `start` may be empty; otherwise the solution costs no more. `arcs`: producers and consumers, for start 2. A pure
/// function of its arguments.
[[nodiscard]] Solution solve(const Network& network, const Assignment& start, const std::vector<Arc>& arcs,
                             const SearchLimits& limits = {});

}  // namespace tdsl::plan
