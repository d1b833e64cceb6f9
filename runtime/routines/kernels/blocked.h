#pragma once

#include "runtime/check.h"
#include "runtime/kernels/task.h"

// Kernels of the distributed factorisations (see runtime/routines/algorithms): one step on one panel on one rank, and
// triangular solves with distributed rows or columns. T is float or double.

namespace tdsl::rt::routines::kernels {

/// Solves X C' = P for a lower triangular C: operand 0 is P (the task's rows, all columns), operand 1 is C.
template <class T>
[[nodiscard]] Kernel triangular_rows();
/// Solves D Y = W for a unit lower triangular D: operand 0 is D (its upper triangle is ignored), operand 1 the task's
/// columns of W.
template <class T>
[[nodiscard]] Kernel forward_columns();
/// The same for an upper triangular D, including its diagonal.
template <class T>
[[nodiscard]] Kernel backward_columns();

/// Partial pivoting in one block column. Operand 0: the column block of b columns, all m rows in the matrix's original
/// order. Operand 1 (i64[m]): the permutation, row number by position; the first `lo` positions are final. The output,
/// (m + b) x (b + 2):
///
///     | F | p | q |   F: the factors in original row order (finished rows unchanged);  p: the new permutation;
///     | D |   |   |   q: its inverse, position by row;  D: the diagonal block, L below and U on and above the diagonal
///
/// With `must_be_regular` a zero pivot stops the run ("solve: the matrix is singular").
template <class T>
[[nodiscard]] Kernel lu_panel(SourceLine place, Index lo, bool must_be_regular);

/// Direct TSQR with blocks of `height` rows. Block g of the output (groups x n x n) is the R of rows [g height, (g + 1)
/// height) of operand 0, padded with zero rows.
template <class T>
[[nodiscard]] Kernel block_r(Index height);
/// The task's rows of Q: Q of each block of operand 0 times that block's n rows of operand 1.
template <class T>
[[nodiscard]] Kernel block_q(Index height);

}  // namespace tdsl::rt::routines::kernels
