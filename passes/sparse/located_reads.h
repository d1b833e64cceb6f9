#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::passes {

/// A read of single elements of a compressed matrix at positions that no loop over stored elements visits, and the
/// vector or scalar that contains these elements. Its Compute iterates over rows and finds the column in the row:
///
///     %1[i, i]                %3[i] with %3 = compute [i in 0..%0] sum[j in 0..%0] (%1[i, j]) where eq(i, j)
///     %1[add(1, i), i]        %3[add(1, i)] with %3 = compute [i in 0..%0] sum[j in 0..%0] (%1[i, j]) where eq(add(i,
///     -1), j) %1[3, 5]                %3[] with %3 = compute [] sum[k in 0..1, l in 0..1] (%1[add(3, k), add(5, l)])
///
/// The sum has one term, so its value is the element, or 0 if that is absent.
struct LocatedRead {
  ir::Expr read;             ///< a part of the Compute
  ir::ValueId from;          ///< the matrix
  ir::Compute compute;       ///< of the vector, of one element per row, or of the scalar
  std::vector<ir::Expr> at;  ///< subscripts that replace those of the read
};

/// The reads of single elements in bodies and guard. Not those that may be out of bounds, unless the Compute has
/// exactly one point, at which they are evaluated.
[[nodiscard]] std::vector<LocatedRead> located_reads(const ir::Program& program, const ir::Compute& compute);

}  // namespace tdsl::passes
