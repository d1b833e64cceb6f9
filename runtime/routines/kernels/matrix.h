#pragma once

#include "runtime/check.h"
#include "runtime/kernels/task.h"

// Kernels of factorisations and solvers on one rank, through LAPACK. The operation is one task: its output is never
// cut, and its operands are read whole. T is float or double. `place` is the line that a singular operand is reported
// with.
//
// Several results lie in one output, one below the other, so that one operation computes them all (k = min(m, n)):
//
//     lu   (m + k) x (n + 1)   | L  | p |     qr   (m + k) x n   | Q |     svd (m + 1 + k) x n  | U  |     eigh (n + 1)
//     x n  | w |
//                              | U  |   |                        | R |                          | s  | | V |
//                                                                                               | V' |
//
// L, Q, U and s may be narrower than the output; what they do not cover is 0.

namespace tdsl::rt::routines::kernels {

/// The lower factor of operand 0's lower triangle.
template <class T>
[[nodiscard]] Kernel cholesky(SourceLine place);
template <class T>
[[nodiscard]] Kernel inverse(SourceLine place);
/// Rank 0.
template <class T>
[[nodiscard]] Kernel determinant(SourceLine place);
/// operand 0 x = operand 1 (a vector or the columns of a matrix).
template <class T>
[[nodiscard]] Kernel solve(SourceLine place);
/// The least-squares solution of least norm; singular values up to max(m, n) eps s0 count as 0.
template <class T>
[[nodiscard]] Kernel least_squares(SourceLine place);
template <class T>
[[nodiscard]] Kernel lu(SourceLine place);
/// diag(R) >= 0.
template <class T>
[[nodiscard]] Kernel qr(SourceLine place);
/// Of each column of U the component of largest magnitude is positive.
template <class T>
[[nodiscard]] Kernel svd(SourceLine place);
/// Eigenvalues and vectors of operand 0's lower triangle; signs as in svd.
template <class T>
[[nodiscard]] Kernel eigh(SourceLine place);

}  // namespace tdsl::rt::routines::kernels
