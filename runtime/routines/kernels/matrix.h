#pragma once

#include "runtime/check.h"
#include "runtime/kernels/task.h"

// Single-rank kernels of factorisations and solvers, through LAPACK. The operation is one task: its output is never
// cut, and its operands are read whole. T is float or double. `place` is the source line reported for a singular
// operand.
//
// Several results are stacked in one output, so that one operation computes them all (k = min(m, n)):
//
//     lu (m + k) x (n + 1)   qr (m + k) x n   svd (m + 1 + k) x n   eigh (n + 1) x n
//         | L | p |              | Q |             | U  |               | w |
//         | U |   |              | R |             | s  |               | V |
//                                                  | V' |
//
// L, Q, U and s may be narrower than the output; the rest is 0.

namespace tdsl::rt::routines::kernels {

/// The Cholesky factor of operand 0's lower triangle.
template <class T>
[[nodiscard]] Kernel cholesky(SourceLine place);
template <class T>
[[nodiscard]] Kernel inverse(SourceLine place);
/// A scalar (rank 0).
template <class T>
[[nodiscard]] Kernel determinant(SourceLine place);
/// Solves operand 0 x = operand 1 (a vector or the columns of a matrix).
template <class T>
[[nodiscard]] Kernel solve(SourceLine place);
/// The minimum-norm least-squares solution; singular values up to max(m, n) eps s0 are treated as 0.
template <class T>
[[nodiscard]] Kernel least_squares(SourceLine place);
template <class T>
[[nodiscard]] Kernel lu(SourceLine place);
/// diag(R) >= 0.
template <class T>
[[nodiscard]] Kernel qr(SourceLine place);
/// Signs are chosen so that the largest component of each column of U is positive.
template <class T>
[[nodiscard]] Kernel svd(SourceLine place);
/// Eigenvalues and eigenvectors of operand 0's lower triangle; signs as in svd.
template <class T>
[[nodiscard]] Kernel eigh(SourceLine place);

}  // namespace tdsl::rt::routines::kernels
