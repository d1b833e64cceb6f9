#pragma once

#include "runtime/kernels/task.h"

// Kernels of routines that compute element by element: what moves blocks of a matrix about, and what takes results
// apart. Numbers are in the order of KernelCall::numbers; T is the operands' element type.

namespace tdsl::rt::routines::kernels {

// --- Of matrices (float or double)

/// out(i + row, j + column) = in(i + from_row, j + from_column)
template <class T>
[[nodiscard]] Kernel move(Index row, Index column, Index from_row, Index from_column);
/// out(i, j) = -in(i, j)
template <class T>
[[nodiscard]] Kernel negate();
template <class T>
[[nodiscard]] Kernel zeros();
/// Above the diagonal, in place.
template <class T>
[[nodiscard]] Kernel zeros_above();
/// The factors of packed L and U.
template <class T>
[[nodiscard]] Kernel unit_lower();
template <class T>
[[nodiscard]] Kernel upper();
/// Operand 1 (a vector or a matrix) right of the n columns of operand 0.
template <class T>
[[nodiscard]] Kernel beside(Index n);
/// Vectors: the first column, a row.
template <class T>
[[nodiscard]] Kernel first_column();
template <class T>
[[nodiscard]] Kernel row(Index row);

/// Of a panel of lu_panel: the negative factors left of the diagonal, else 0. Operand 0 is the column of places,
/// operand 1 the factors.
template <class T>
[[nodiscard]] Kernel negative_factors(Index width, Index lo);
/// out(i, j) = operand 1(operand 0(first + i), column + j), of the rows that the task's panel has; to be combined by
/// max.
template <class T>
[[nodiscard]] Kernel pick_rows(Index first, Index column);

// Matrices that are the last of a stack: number `last` of the operand's first dimension.

template <class T>
[[nodiscard]] Kernel last(Index last);
template <class T>
[[nodiscard]] Kernel last_transposed(Index last);
/// The sum of squares of its differences from the unit matrix.
template <class T>
[[nodiscard]] Kernel distance_from_unit(Index last);
/// The product of the last matrices of two stacks.
template <class T>
[[nodiscard]] Kernel product_of_last(Index last);

// --- Row numbers (i64)

[[nodiscard]] Kernel count();
[[nodiscard]] Kernel copy_rows();
/// Those in a column of a matrix of T.
template <class T>
[[nodiscard]] Kernel row_numbers(Index column);

// --- Of lines (any element type)

/// out(g, j) is element g * height + j of n; behind them what loses against every element.
template <class T>
[[nodiscard]] Kernel padded_blocks(Index height, Index n);
/// A matrix of `each` columns, row after row.
template <class T>
[[nodiscard]] Kernel in_one_row(Index each);
/// The same of positions within blocks of `height` elements, as positions in the line.
[[nodiscard]] Kernel origins(Index each, Index height);
/// out(j) = operand 1(operand 0(j)), of the elements that the task's panel has; to be combined by max.
[[nodiscard]] Kernel pick();

}  // namespace tdsl::rt::routines::kernels
