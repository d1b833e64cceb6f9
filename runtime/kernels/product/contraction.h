#pragma once

#include <memory>

#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/task.h"
#include "runtime/plan/op.h"
#include "runtime/types.h"

namespace tdsl::rt {

/// The kernel of `sum of reads[0] * reads[1]` (f32 or f64) over the operation's reduce labels. Subscripts are sums of
/// labels and constants. Labels are mapped to BLIS's products through strides, without copies:
///
///     C[i,j]   += A[i,k] * B[k,j]      one gemm, with any of the three transposed or strided
///     C[b,i,j] += A[b,i,k] * B[k,b,j]  a loop of gemms over b
///     C[i,j]   += A[i,k,l] * B[k,l,j]  one gemm over (k,l) if they are contiguous in memory, else a loop over k
///     C[i,j,p,q] += A[i,k,p,l] * B[k,j,l,q]  matrices stored tile by tile: one gemm_of_tiles unless it is small
///     y[i]     += A[i,k] * x[k]        sums along rows or of columns (rows.h); gemv if neither are contiguous
///
/// Products smaller than 8 in every extent are plain loops. The epilogue runs after the last panel: for large products
/// on parts of the block that are still in cache.
[[nodiscard]] Kernel contraction_kernel(std::shared_ptr<const plan::Op> op, ElementType type,
                                        const Epilogue& epilogue = Epilogue(nullptr));

}  // namespace tdsl::rt
