#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "codegen/loops/loop_order.h"

namespace tdsl::codegen {

/// A reduction with two free labels as the register-blocked kernel wants it (runtime/kernels/blocked_reduction.h):
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
  Values x;                                       ///< largest subexpressions that do not mention the column
  Values y;                                       ///< largest others that do not mention the row
  bool numbers = false;  ///< a minimum or maximum of what is no nan where neither x nor y are nan or inf
};

/// Whether an expression reads an operand there, not a scalar.
using IsOperand = std::function<bool(const ir::ExprNode&)>;

/// How to block a reduction with these labels, of which the values are filled in, or nothing: where an expression needs
/// row and column at once, may fail, or calls functions that have no vector form the plain loops are as good or needed.
[[nodiscard]] std::optional<Blocking> blocking(const ir::Compute& compute, Blocking labels,
                                               const IsOperand& is_operand);
/// The same of a kernel, with labels as they suit it; nothing also where it guards its reads.
[[nodiscard]] std::optional<Blocking> blocking(const OpTemplate& op, const KernelTemplate& kernel);

}  // namespace tdsl::codegen
