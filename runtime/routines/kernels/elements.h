#pragma once

#include "runtime/kernels/task.h"

// Elementwise kernels of routines: copying of submatrices, and unpacking of results. Arguments are in the order of
// KernelCall::numbers; T is the operands' element type.

namespace tdsl::rt::routines::kernels {

// --- Matrices (float or double)

/// out(i + row, j + column) = in(i + from_row, j + from_column)
template <class T>
[[nodiscard]] Kernel move(Index row, Index column, Index from_row, Index from_column);
/// out(i, j) = -in(i, j)
template <class T>
[[nodiscard]] Kernel negate();
template <class T>
[[nodiscard]] Kernel zeros();
/// Zeroes the elements above the diagonal, in place.
template <class T>
[[nodiscard]] Kernel zeros_above();
/// The factors of packed L and U.
template <class T>
[[nodiscard]] Kernel unit_lower();
template <class T>
[[nodiscard]] Kernel upper();
/// Concatenation: operand 1 (a vector or a matrix) to the right of the n columns of operand 0.
template <class T>
[[nodiscard]] Kernel beside(Index n);
/// A vector: the first column, or a row.
template <class T>
[[nodiscard]] Kernel first_column();
template <class T>
[[nodiscard]] Kernel row(Index row);

/// For a panel of lu_panel: the negative factors left of the diagonal, 0 elsewhere. Operand 0 is the column of
/// positions, operand 1 the factors.
template <class T>
[[nodiscard]] Kernel negative_factors(Index width, Index lo);
/// out(i, j) = operand 1(operand 0(first + i), column + j), for the rows in the task's panel; partial results are
/// combined by max.
template <class T>
[[nodiscard]] Kernel pick_rows(Index first, Index column);

// Operations on the last matrix of a stack: number `last` along the operand's first dimension.

template <class T>
[[nodiscard]] Kernel last(Index last);
template <class T>
[[nodiscard]] Kernel last_transposed(Index last);
/// Squared Frobenius distance from the identity.
template <class T>
[[nodiscard]] Kernel distance_from_unit(Index last);
/// Product of the last matrices of two stacks.
template <class T>
[[nodiscard]] Kernel product_of_last(Index last);

// --- Row numbers (i64)

[[nodiscard]] Kernel count();
[[nodiscard]] Kernel copy_rows();
/// Row numbers stored in a column of a matrix of T.
template <class T>
[[nodiscard]] Kernel row_numbers(Index column);

// --- Lines (any element type)

/// out(g, j) is element g * height + j of n; padded with a value that compares below every element.
template <class T>
[[nodiscard]] Kernel padded_blocks(Index height, Index n);
/// Concatenates the rows of a matrix with `each` columns.
template <class T>
[[nodiscard]] Kernel in_one_row(Index each);
/// The same for positions within blocks of `height` elements, converted to positions in the line.
[[nodiscard]] Kernel origins(Index each, Index height);
/// out(j) = operand 1(operand 0(j)), for the elements in the task's panel; partial results are combined by max.
[[nodiscard]] Kernel pick();

}  // namespace tdsl::rt::routines::kernels
