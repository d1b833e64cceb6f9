#pragma once

#include <functional>
#include <vector>

#include "runtime/plan/cost/machine.h"
#include "runtime/plan/cost/rank_view.h"

// Bytes that enter a node: a box that several of its ranks need enters once (steps/tree.h). The ranks of a node form a
// box of the layout's coordinates, so their needed and owned sets are products over dimensions, as for a single rank.

namespace tdsl::plan::counting {

/// The needed and owned elements of one rank of a node for one tensor, as intervals per dimension.
struct Member {
  std::vector<std::vector<Intervals>> needs;  ///< one entry per access; empty: needs nothing
  std::vector<Intervals> own;
  bool owns = true;
};

/// Elements received from other nodes.
struct Entering {
  double all = 0;
  std::vector<double> by;  ///< share that each member fetches itself, in proportion to its needs
};

/// `share_copy(a, b)`: whether two members read from the same copy. Needs of more than two accesses are counted
/// separately.
[[nodiscard]] Entering entering(const std::vector<Member>& node,
                                const std::function<bool(std::size_t, std::size_t)>& share_copy);

}  // namespace tdsl::plan::counting

namespace tdsl::plan {

/// The rank's traffic for an operation for which it receives `bytes` in `messages`. Boxes that super-blocks fetch again
/// enter again.
[[nodiscard]] Traffic traffic_of(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank,
                                 double bytes, double messages, const Machine& machine);

}  // namespace tdsl::plan
