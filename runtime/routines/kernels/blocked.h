#pragma once

#include <utility>

#include "runtime/check.h"
#include "runtime/kernels/product/blas_call.h"
#include "runtime/kernels/task.h"
#include "runtime/routines/kernels/columns.h"

// Kernels of the distributed factorisations (see runtime/routines/algorithms): one step on one panel on one rank, and
// triangular solves with distributed rows or columns. T is float or double, in those of lu also Complex of these.

namespace tdsl::rt::routines::kernels {

using blas::Triangle;

template <class T>
blas::Matrix<const T> given(const Operand& operand) {
  return {reinterpret_cast<const T*>(operand.data), operand.stride[0], 1};
}

/// Copies the rows and columns of operand 1 (or 0) that belong to the task's output, and solves in place.
template <class T>
void solve_in_place(const TaskArgs& t, std::size_t triangle, std::size_t right, Triangle kind, bool from_left) {
  const Operand& out = t.outputs[0];
  if (out.box.empty()) return;
  const Operand& from = t.inputs[right];
  const T* source = reinterpret_cast<const T*>(from.data) + (out.box[0].lo - from.box[0].lo) * from.stride[0] +
                    (out.box[1].lo - from.box[1].lo);
  T* data = reinterpret_cast<T*>(out.data);
  for (Index i = 0; i < out.box[0].size(); ++i)
    std::copy_n(source + i * from.stride[0], out.box[1].size(), data + i * out.stride[0]);
  blas::trsm(kind, from_left, out.box[0].size(), out.box[1].size(), given<T>(t.inputs[triangle]),
             blas::Matrix<T>{data, out.stride[0], 1});
}

/// Rows [lo, hi) of a row-major operand, all columns.
template <class T>
Columns<T> rows_of(const Operand& operand, Interval rows) {
  Columns<T> result(rows.size(), operand.box[1].size());
  const T* data = reinterpret_cast<const T*>(operand.data) + (rows.lo - operand.box[0].lo) * operand.stride[0];
  for_each_element(result.rows, result.columns,
                   [&](Index i, Index j) { result(i, j) = data[i * operand.stride[0] + j]; });
  return result;
}

/// Solves X C' = P for a lower triangular C: operand 0 is P (the task's rows, all columns), operand 1 is C.
template <class T>
Kernel triangular_rows() {
  return [](const TaskArgs& t) { solve_in_place<T>(t, 1, 0, Triangle::kLower, false); };
}

/// Solves D Y = W for a unit lower triangular D: operand 0 is D (its upper triangle is ignored), operand 1 the task's
/// columns of W.
template <class T>
Kernel forward_columns() {
  return [](const TaskArgs& t) { solve_in_place<T>(t, 0, 1, Triangle::kUnitLower, true); };
}

/// The same for an upper triangular D, including its diagonal.
template <class T>
Kernel backward_columns() {
  return [](const TaskArgs& t) { solve_in_place<T>(t, 0, 1, Triangle::kUpper, true); };
}

/// Partial pivoting in one block column. Operand 0: the column block of b columns, all m rows in the matrix's original
/// order. Operand 1 (i64[m]): the permutation, row number by position; the first `lo` positions are final. The output,
/// (m + b) x (b + 2):
///
///     | F | p | q |   F: the factors in original row order (finished rows unchanged);  p: the new permutation;
///     | D |   |   |   q: its inverse, position by row;  D: the diagonal block, L below and U on and above the diagonal
///
/// With `must_be_regular` a zero pivot stops the run ("solve: the matrix is singular").
template <class T>
Kernel lu_panel(SourceLine place, Index lo, bool must_be_regular) {
  return [place, lo, must_be_regular](const TaskArgs& t) {
    const auto column = t.in<T, 2>(0);
    const auto before = t.in<std::int64_t, 1>(1);
    const Index m = t.inputs[0].box[0].size();
    const Index b = t.inputs[0].box[1].size();
    if (m >= Index{1} << std::numeric_limits<PartOf<T>>::digits)
      throw RunError(place, "lu has at most 2^24 rows in f32 [not-supported]");
    std::vector<Index> p(at(m));
    for (Index i = 0; i < m; ++i) p[at(i)] = before(i);
    // The remaining rows in their current order, so that pivot ties are resolved as in LAPACK.
    Columns<T> a(m - lo, b);
    for_each_element(a.rows, b, [&](Index i, Index j) { a(i, j) = column(p[at(lo + i)], j); });
    std::vector<lapack_int> pivots(at(b));
    const bool regular = lapack::getrf<T>(a.m(), a.n(), a.data(), a.lead(), pivots.data()) == 0;
    if (!regular && must_be_regular) singular(place, "solve");
    for (Index i = 0; i < b; ++i) std::swap(p[at(lo + i)], p[at(lo + pivots[at(i)] - 1)]);
    fill<T>(t.outputs[0], 0);
    const auto out = t.out<T, 2>();
    for (Index i = 0; i < m; ++i) {
      out(i, b) = static_cast<T>(p[at(i)]);
      out(p[at(i)], b + 1) = static_cast<T>(i);
    }
    for_each_element(lo, b, [&](Index i, Index j) { out(p[at(i)], j) = column(p[at(i)], j); });
    for_each_element(a.rows, b, [&](Index i, Index j) { out(p[at(lo + i)], j) = a(i, j); });
    for_each_element(b, b, [&](Index i, Index j) { out(m + i, j) = a(i, j); });
  };
}

/// Direct TSQR with blocks of `height` rows. Block g of the output (groups x n x n) is the R of rows [g height, (g + 1)
/// height) of operand 0, padded with zero rows.
template <class T>
Kernel block_r(Index height) {
  return [height](const TaskArgs& t) {
    fill<T>(t.outputs[0], 0);
    const auto out = t.out<T, 3>();
    const Interval rows = t.inputs[0].box[0];
    for (Index g = t.out_box[0].lo; g < t.out_box[0].hi; ++g) {
      Columns<T> block = rows_of<T>(t.inputs[0], plan::intersect({g * height, (g + 1) * height}, rows));
      const Columns<T> r = reduce_to_q(block, false);
      for_each_element(r.rows, r.columns, [&](Index i, Index j) { out(g, i, j) = r(i, j); });
    }
  };
}

/// The task's rows of Q: Q of each block of operand 0 times that block's n rows of operand 1.
template <class T>
Kernel block_q(Index height) {
  return [height](const TaskArgs& t) {
    const Operand& out = t.outputs[0];
    const Index n = out.box[1].size();
    const Interval rows = out.box[0];
    const Operand& joined = t.inputs[1];
    for (Index lo = rows.lo; lo < rows.hi; lo = (lo / height + 1) * height) {
      const Index g = lo / height;
      // A task has whole blocks, because the operation's tile height is the block height.
      Columns<T> block = rows_of<T>(t.inputs[0], plan::intersect({g * height, (g + 1) * height}, rows));
      static_cast<void>(reduce_to_q(block));
      const Index k = std::min(block.rows, n);
      const T* factor = reinterpret_cast<const T*>(joined.data) + (g - joined.box[0].lo) * joined.stride[0];
      T* result = reinterpret_cast<T*>(out.data) + (lo - rows.lo) * out.stride[0];
      blas::gemm(block.rows, n, k, blas::Matrix<const T>{block.data(), 1, block.rows},
                 blas::Matrix<const T>{factor, joined.stride[1], 1}, false, blas::Matrix<T>{result, out.stride[0], 1});
    }
  };
}

}  // namespace tdsl::rt::routines::kernels
