#pragma once

#include "runtime/kernels/task.h"
#include "runtime/plan/op.h"
#include "runtime/types.h"

namespace tdsl::rt {

/// The kernel of a product, or a sum of products, of float tensors subscripted by plain labels, each label once per
/// tensor: products that are not matrix products (see contraction.h).
///
///     C[i,j,k] = A[i,k] * B[j,k]               one or two operands: loops ordered for contiguous memory access, with
///     C[i]    += A[i,k] * B[k,i]               vectors along the innermost
///     C[i,j]  += A[i,k,l] * B[k,j] * D[l,j]    more operands: products of those with i and of those with j are packed
///                                              in blocks, and combined as in blocked_reduction.h
///
/// `op` is as recorded, without part dimensions.
[[nodiscard]] Kernel sum_of_products_kernel(const plan::Op& op, ElementType type);

/// The same for one task, with T float, double or Complex of these; also with part dimensions.
template <class T>
void add_products(const plan::Op& op, const TaskArgs& args);

}  // namespace tdsl::rt
