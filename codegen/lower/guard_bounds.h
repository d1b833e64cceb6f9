#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "codegen/families/families.h"

namespace tdsl::codegen {

/// A part of a guard, `value <= k` or `k < value`, that a loop over k observes by where it begins or ends.
struct GuardBound {
  Expr value;
  bool from_below = false;  ///< the loop begins at the value, else it ends there
  bool past = false;        ///< one past the value: `value < k`, `k <= value`
  bool safe = true;         ///< it can be evaluated although there is nothing to loop over
};

/// The parts of the kernel's guard that bound a loop over label number `label`, by values that the loops over the
/// labels `open` around it fix: `rp[i] <= k && k < rp[i + 1]`. A part that must not be evaluated where an earlier one
/// is false is one only if the earlier ones are bounds, too. Adds the parts to `used`.
[[nodiscard]] std::vector<GuardBound> guard_bounds(const ComputeKernel& kernel, int label, const std::set<int>& open,
                                                   std::set<const ir::ExprNode*>& used);

/// The guard without the parts in `used`; null if nothing is left.
[[nodiscard]] Expr without_parts(const Expr& guard, const std::set<const ir::ExprNode*>& used);

/// What bounds the points of a matrix at which its elements may be other than 0: guard and body of its Compute, as far
/// as they compare labels 0 and 1 with affine forms of host values.
struct PointBounds {
  std::vector<SymbolicBound> bounds;
  std::set<const ir::ExprNode*> said;  ///< parts of the guard that say nothing else
  bool all = false;                    ///< the guard has no other parts
};

/// Bounds of a result with two out labels that start at 0; none for others. Points outside the bounds may be skipped:
/// no check fails there.
[[nodiscard]] PointBounds point_bounds(const FamilyProgram& program, const RecordedOp& op, const ComputeKernel& kernel,
                                       ValueId target);

}  // namespace tdsl::codegen
