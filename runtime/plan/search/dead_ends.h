#pragma once

#include <vector>

#include "runtime/plan/search/network.h"

// Dead-end elimination (R. F. Goldstein, Biophysical Journal 66, 1994): a value s of a variable is dropped if another
// value q of the same variable costs no more whatever the neighbours do,
//
//     own(s) - own(q) + sum over neighbours of  min over u of (pair(s, u) - pair(q, u))  >= 0,
//
// or if every value of some neighbour forbids it. What is dropped makes values of neighbours droppable in turn.

namespace tdsl::plan {

/// A network without the values that an optimum can do without. Its minimum is that of the original network.
struct DeadEnds {
  Network network;
  std::vector<std::vector<int>> kept;  ///< per variable and value of `network`: the value's original number; ascending
  std::vector<std::vector<int>> heir;  ///< per variable and original value: the value of `network` that stands for it
  Index work = 0;                      ///< table entries read
  bool complete = false;               ///< false: the limit ended the search for more

  /// The assignment of the original network; the cost is the same.
  [[nodiscard]] Assignment original(const Assignment& reduced) const;
  /// Dropped values are replaced by those that beat them, so that the cost does not grow.
  [[nodiscard]] Assignment reduced(const Assignment& original) const;
};

/// Drops values until none can be dropped, or about `work_limit` table entries have been read. Of values of equal cost
/// the earlier one stays. Every variable keeps a value even if nothing is allowed.
[[nodiscard]] DeadEnds without_dead_ends(const Network& network, Index work_limit);

}  // namespace tdsl::plan
