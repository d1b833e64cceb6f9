#pragma once

#include <vector>

#include "runtime/plan/search/network.h"

// Dead-end elimination (R. F. Goldstein, Biophysical Journal 66, 1994): a value s of a variable is dropped if another
// value q of the same variable never costs more, whatever the neighbours choose,
//
//     own(s) - own(q) + sum over neighbours of  min over u of (pair(s, u) - pair(q, u))  >= 0,
//
// or if every value of some neighbour forbids it. Dropping values makes further values of neighbours droppable.

namespace tdsl::plan {

/// A network without the values that an optimum does not need. Its minimum equals that of the original network.
struct DeadEnds {
  Network network;
  std::vector<std::vector<int>> kept;  ///< per variable and value of `network`: the value's original number; ascending
  std::vector<std::vector<int>> heir;  ///< per variable and original value: the value of `network` that replaces it
  Index work = 0;                      ///< table entries read
  bool complete = false;               ///< false: stopped by the work limit

  /// Maps an assignment back to the original network; the cost is unchanged.
  [[nodiscard]] Assignment original(const Assignment& reduced) const;
  /// Dropped values are replaced by those that beat them, so the cost does not increase.
  [[nodiscard]] Assignment reduced(const Assignment& original) const;
};

/// Drops values until none can be dropped, or about `work_limit` table entries have been read. Among values of equal
/// cost the earliest stays. Every variable keeps a value even if nothing is allowed.
[[nodiscard]] DeadEnds without_dead_ends(const Network& network, Index work_limit);

}  // namespace tdsl::plan
