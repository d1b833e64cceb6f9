#pragma once

#include <set>
#include <vector>

#include "codegen/families.h"

namespace tdsl::codegen {

/// A part of a guard, `value <= k` or `k < value`, that a loop over k observes by where it begins or ends.
struct GuardBound {
  Expr value;
  bool from_below = false;  ///< the loop begins at the value, else it ends there
  bool past = false;        ///< one past the value: `value < k`, `k <= value`
  bool safe = true;         ///< it can be evaluated although there is nothing to loop over
};

/// The parts of the kernel's guard that bound a loop over label number `label`, by values that the loops over the labels
/// `open` around it fix: `rp[i] <= k && k < rp[i + 1]`. A part that must not be evaluated where an earlier one is false is one
/// only if the earlier ones are bounds, too. Adds the parts to `used`.
[[nodiscard]] std::vector<GuardBound> guard_bounds(const KernelTemplate& kernel, int label, const std::set<int>& open,
                                                   std::set<const ir::ExprNode*>& used);

/// What all of which must hold.
[[nodiscard]] std::vector<Expr> conjuncts(const Expr& e);
/// The guard without the parts in `used`; null if nothing is left.
[[nodiscard]] Expr without_parts(const Expr& guard, const std::set<const ir::ExprNode*>& used);

}  // namespace tdsl::codegen
