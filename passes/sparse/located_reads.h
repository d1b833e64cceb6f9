#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::passes {

/// A read of elements of a compressed matrix at positions that no loop over stored elements visits, and the vector or
/// scalar that contains these elements:
///
///     %1[i, i]    %3[i] with %3 = compute [i in 0..%0] sum[j in 0..%0] (%1[i, j]) where eq(i, j)
///     %1[3, j]    %3[j] with %3 = compute [i in 0..%0] (%1[3, i])
///     %1[3, 5]    %3[] with %3 = compute [] sum[k in 0..1, l in 0..1] (%1[add(3, k), add(5, l)])
///
/// The sums have one term, so their value is the element, or 0 if that is absent. The loop of the first finds the
/// column in each row (codegen/loops/kernel_stored.cpp); rearranged_reads.h moves the row of the second and the element
/// of the third to matrices of their own.
struct LocatedRead {
  ir::Expr read;             ///< a part of the Compute
  ir::ValueId from;          ///< the matrix
  ir::Compute compute;       ///< of the vector or scalar
  std::vector<ir::Expr> at;  ///< subscripts that replace those of the read
  bool of_all_rows = true;   ///< else of a single row or column
};

/// Such reads in bodies and guard, but none of rows or columns in Computes that contain nothing else or, unless
/// `lines_reduced`, reduce them, for which rearranged_reads.h needs no vector, and none that may be out of bounds,
/// unless the Compute evaluates them wherever the vector or scalar has an element.
[[nodiscard]] std::vector<LocatedRead> located_reads(const ir::Program& program, const ir::Compute& compute,
                                                     bool lines_reduced);

}  // namespace tdsl::passes
