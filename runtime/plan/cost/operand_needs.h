#pragma once

#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/rank_view.h"

// The part of an operand that a rank needs, and receives (operand_needs.cpp, Note [Counting in closed form]).

namespace tdsl::plan::counting {

/// Of one access to an operand.
struct Need {
  std::vector<Intervals> lists;  ///< per dimension, one per tile combination
  Range received;                ///< elements
  Range pieces;
  double read = 0;       ///< elements read once per super-block, local or remote
  double per_panel = 0;  ///< upper bound of the non-resident elements that one panel of one super-block holds
  Range loaded;          ///< non-resident elements of own blocks
  bool exact = true;
};

[[nodiscard]] Need need_of(const RankView& v, const Access& access, const TensorLookup& tensors, Index rank);

/// True if boxes are kept for later panels. They are freed with their panel only if every reduce label with several
/// panels is the sole label of some subscript, the same one in all accesses to the tensor.
[[nodiscard]] bool kept_over_panels(const Op& op, const OpPlan& plan, const Access& access,
                                    const TensorLookup& tensors);
/// True if the intervals of two accesses to one tensor are equal or disjoint in every dimension.
[[nodiscard]] bool are_equal_or_disjoint(const Need& a, const Need& b);
/// Elements that two accesses to one tensor share and fetch once.
[[nodiscard]] double shared_elements(const Need& a, const Need& b, const PlacedTensor& tensor, Index rank);
/// Own non-resident pieces of one tensor: each is loaded once per super-block, whichever accesses use it.
[[nodiscard]] Range loaded_elements(const std::vector<Need>& needs, const RankView& v, const PlacedTensor& tensor,
                                    Index rank);

}  // namespace tdsl::plan::counting
