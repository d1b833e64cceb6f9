#pragma once

#include "runtime/kernels/product/blas_call.h"

namespace tdsl::rt::blas {

/// True if `packed_product` applies: large in every extent, and this processor's micro-kernels read plain panels.
template <class T>
bool takes_packed_product(Index m, Index n, Index k);

/// C = beta C + A B by BLIS's micro-kernel, on operands packed by the runtime. One thread; ticks after each
/// micro-kernel (progress.h). `finish` is called for parts that are still in cache.
template <class T>
void packed_product(Index m, Index n, Index k, Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c,
                    const Finish& finish);

}  // namespace tdsl::rt::blas
