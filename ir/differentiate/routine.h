#pragma once

#include "ir/differentiate/activity.h"
#include "ir/differentiate/adjoints.h"

namespace tdsl::ir {

/// Adds to the adjoints of a routine's operands, given those of its results. With d for an adjoint:
///
///     cumsum            running sums from the end
///     cumprod           the same of the products' terms, divided by the element; apart for zeros
///     cummax, cummin    each element's derivative goes to the latest element that equals it
///     sort, topk        each element's derivative goes where it came from
///     fft, ifft         the other one of d, with the same factor
///     rfft, irfft       the other one of d, elements apart from the first and the middle one halved before, doubled
///                       behind
///     x = solve(A, b)   db = solve(A', dx), dA = -db x'; of a triangle the part that is read, of a positive A the
///     lower
///                       triangle of dA + dA' with half its diagonal
///     Y = inv(A)        dA = -Y' dY Y'
///     d = det(A)        dA = dd d inv(A)'
///     L = cholesky(A)   S = inv(L)' P inv(L), P the lower triangle of L' dL with half its diagonal;
///                       dA = the lower triangle of S + S' with half its diagonal (only that is read)
///
/// and those of `add_factorisation_adjoints`; batches of matrices have these matrix by matrix. Source of the last one:
/// Murray, Differentiation of the Cholesky decomposition, 2016, section 3. C++ kernels throw NotDifferentiable.
void add_adjoints(const Node& node, const Routine& routine, const Activity& activity, NodeWriter& writer,
                  Adjoints& adjoints);

/// Adds to the adjoints of the operands of lu, qr, eigh, svd and lstsq, given those of the results. With d for an
/// adjoint and . for element-wise products:
///
///     (p, L, U) = lu(A)    dA[p[i], j] = (inv(L)' M inv(U)')[i, j], M below the diagonal that of L' dL, else that of
///                          dU U'; square and regular (run-time check)
///     (Q, R) = qr(A)       dA = (dQ + Q S) inv(R)', S symmetric with the lower triangle of R dR' - dQ' Q; at least as
///                          many rows as columns (run-time check)
///     (w, V) = eigh(A)     X = V (diag(dw) + F . V' dV) V', F[i, j] = 1 / (w[j] - w[i]); dA = the lower triangle of
///                          X + X' with half its diagonal (only that is read)
///     (U, s, Vt) = svd(A)  dA = (U (F . (U' dU - dU' U) S + S F . (V' dV - dV' V) + diag(ds))
///                          + (I - U U') dU inv(S)) V' + U inv(S) dV' (I - V V'), F[i, j] = 1 / (s[j]^2 - s[i]^2)
///     x = lstsq(A, b)      y = lstsq(A', dx), db = y, dA = -y x' + (b - A x) lstsq(A, y)' + lstsq(A', x) (dx - A' y)'
///
/// The terms of F are included only if the loss depends on vectors: vectors of equal values have no derivatives.
/// Sources: Walter and Lehmann, Algorithmic differentiation of linear algebra functions, 2010; Townsend,
/// Differentiating the singular value decomposition, 2016; Golub and Pereyra, The differentiation of pseudo-inverses,
/// 1973.
void add_factorisation_adjoints(const Node& node, const Routine& routine, const Activity& activity, NodeWriter& writer,
                                Adjoints& adjoints);

}  // namespace tdsl::ir
