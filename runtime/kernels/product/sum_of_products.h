#pragma once

#include "runtime/kernels/task.h"
#include "runtime/plan/op.h"
#include "runtime/types.h"

namespace tdsl::rt {

/// The kernel of a product, or a sum of products, of float tensors that are subscripted by labels alone, each label
/// once per tensor: what no matrix product computes (that is contraction.h).
///
///     C[i,j,k] = A[i,k] * B[j,k]                    one or two operands: loops in the order that memory likes, vectors
///     along the innermost C[i]    += A[i,k] * B[k,i] C[i,j]  += A[i,k,l] * B[k,j] * D[l,j]         more operands:
///     products of those that have i and of those that have j are laid out in
///                                                   blocks, and combined as blocked_reduction.h does
///
/// `op` is as it was recorded, without part dimensions.
[[nodiscard]] Kernel sum_of_products_kernel(const plan::Op& op, ElementType type);

/// The same for one task, T being float or double; with part dimensions, too.
template <class T>
void add_products(const plan::Op& op, const TaskArgs& args);

}  // namespace tdsl::rt
