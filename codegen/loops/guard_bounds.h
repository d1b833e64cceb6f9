#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// A conjunct of a guard, `value <= k` or `k < value`, enforced by the begin or end of the loop over k; `k == value` is
/// two of them.
struct GuardBound {
  Expr value;
  bool from_below = false;  ///< the loop begins at the value, else it ends there
  bool past = false;        ///< one past the value: `value < k`, `k <= value`
  bool safe = true;         ///< it can be evaluated even if the loop is empty
};

/// The conjuncts of the kernel's guard that bound the loop over label number `label` by values that are fixed by the
/// enclosing loops over `open`: `rp[i] <= k && k < rp[i + 1]`. A conjunct that must not be evaluated if an earlier one
/// is false is included only if the earlier ones are bounds, too. Adds the included conjuncts to `used`.
[[nodiscard]] std::vector<GuardBound> guard_bounds(const ComputeKernel& kernel, int label, const std::set<int>& open,
                                                   std::set<const ir::ExprNode*>& used);

/// The guard without the parts in `used`; null if nothing is left.
[[nodiscard]] Expr without_parts(const Expr& guard, const std::set<const ir::ExprNode*>& used);

/// Bounds on the points of a matrix at which elements may be nonzero: comparisons of labels 0 and 1 with affine forms
/// of host values, from guard and body of its Compute.
struct PointBounds {
  std::vector<SymbolicBound> bounds;
  std::set<const ir::ExprNode*> said;  ///< conjuncts of the guard that are implied by the bounds
  bool all = false;                    ///< the guard has no other conjuncts
};

/// Bounds of a result with two out labels that start at 0; none for others. Points outside the bounds may be skipped:
/// no check fails there.
[[nodiscard]] PointBounds point_bounds(const OperationProgram& program, const RecordedOp& op,
                                       const ComputeKernel& kernel, ValueId target);

}  // namespace tdsl::codegen
