#pragma once

#include <functional>

#include "runtime/kernels/product/axis.h"
#include "runtime/plan/space/index.h"

/// The runtime's BLAS calls, single-threaded and thread-safe, through BLIS or the CBLAS chosen at configure time; keeps
/// their headers out of other files. Matrices may have any row and column strides, in elements. beta is 0 (C is not
/// read) or 1. T is float, double Complex of these.
namespace tdsl::rt::blas {

using plan::Index;

/// A matrix in memory.
template <class T>
struct Matrix {
  T* data;
  Index row_stride;
  Index column_stride;
};

/// A matrix whose element [i, j] is at data[rows[i] + columns[j]]: one that is stored tile by tile, for example.
template <class T>
struct TiledMatrix {
  T* data;
  Axis rows;
  Axis columns;
};

/// Call before the first BLAS call. With BLIS, selects the kernels for this processor: BLIS 0.9 misdetects virtual
/// machines with AVX-512 (a user's BLIS_ARCH_TYPE takes precedence). Other libraries are limited to one thread.
void prepare();

/// Callback for a completed part of C: `rows` rows from i, `columns` columns from j.
using Finish = std::function<void(Index i, Index rows, Index j, Index columns)>;

/// C = beta C + A B, with C m x n and A m x k. `finish`, if any, is called for parts that together cover C, if possible
/// while they are in cache.
template <class T>
void gemm(Index m, Index n, Index k, Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c,
          const Finish& finish = nullptr);

/// The same for matrices of tiles, at the cost of a plain product of these extents. Returns false, without computing
/// anything, if products of the tiles are to be preferred: for small extents, or if a library cannot do it.
template <class T>
[[nodiscard]] bool gemm_of_tiles(Index m, Index n, Index k, const TiledMatrix<const T>& a,
                                 const TiledMatrix<const T>& b, bool accumulate, const TiledMatrix<T>& c);

/// y = beta y + A x, with A m x n.
template <class T>
void gemv(Index m, Index n, Matrix<const T> a, const T* x, Index x_stride, bool accumulate, T* y, Index y_stride);

/// The triangle of a triangular matrix that is read, and whether its diagonal is taken as 1.
enum class Triangle : std::uint8_t { kLower, kUnitLower, kUpper };
/// X = T^-1 X with X m x n (`from_left`), or X = X T'^-1.
template <class T>
void trsm(Triangle triangle, bool from_left, Index m, Index n, Matrix<const T> t, Matrix<T> x);

}  // namespace tdsl::rt::blas
