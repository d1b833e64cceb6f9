#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "codegen/loops/loop_order.h"

namespace tdsl::codegen {

/// A reduction with two free labels in the form of the register-blocked kernel
/// (runtime/kernels/blocked/blocked_reduction.h):
///
///     D[b,i,j] = min[k](exp(A[b,i,k]) + B[k,j])      row i, column j, outer b, x = exp(A[b,i,k]), y = B[k,j]
///
/// The body is a function of x values, which do not depend on the column, and y values, which do not depend on the row.
struct Blocking {
  int row = 0;
  int column = 0;          ///< runs along rows of the output in memory
  std::vector<int> outer;  ///< the other output labels
  std::vector<int> reduce;
  using Values = std::vector<std::vector<Expr>>;  ///< each with all its occurrences
  Values x;                                       ///< largest subexpressions without the column label
  Values y;                                       ///< largest others without the row label
  Expr points;  ///< the part of the guard that says which elements are reduced: half-planes of row and column; or null
  Expr guard;   ///< the rest; may be null
  bool numbers = false;  ///< a minimum or maximum that is not nan if neither x nor y are nan or inf
};

/// True if a read is of an operand, not a scalar.
using IsOperand = std::function<bool(const ir::ExprNode&)>;

/// The blocking of a reduction for these labels, with the values filled in; nothing if an expression needs row and
/// column at once, may fail, or calls functions without a vector version: then plain loops are as good or required.
[[nodiscard]] std::optional<Blocking> blocking(const ir::Compute& compute, Blocking labels,
                                               const IsOperand& is_operand);
/// The same for a kernel, with labels chosen to suit it; nothing also if it guards its reads.
[[nodiscard]] std::optional<Blocking> blocking(const RecordedOp& op, const ComputeKernel& kernel);

}  // namespace tdsl::codegen
