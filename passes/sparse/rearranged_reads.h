#pragma once

#include <map>
#include <set>

#include "ir/graph/graph.h"

namespace tdsl::passes {

/// Enables sparse iteration over matrices that a Compute reads at subscripts other than index variables over whole
/// dimensions:
///
///     %3 = compute [i in 0..3] sum[j in 0..5] (absent_mul(%1[add(2, i), j], %2[j]))
/// becomes
///     %4 = compute [i in 0..3, j in 0..5] (%1[add(2, i), j])
///     %3 = compute [i in 0..3] sum[j in 0..5] (absent_mul(%4[i, j], %2[j]))
///
/// %4 contains the elements of %1 at other positions (ir/analysis/rearrangement.h). The read of a row or column becomes
/// the read of a one-row or one-column matrix, and a matrix whose elements are needed by columns (`A' @ A`, its result
/// compressed or dense) is transposed. Only changes Computes that do not iterate over all of their matrices, and only
/// if they iterate over more of them afterwards; if the result is compressed, only Computes without sparse iteration.
/// Conditional reads must be in bounds at all points, unless all alternatives are moved together: a concatenation.
/// An expression that is 0 off a diagonal becomes a matrix with an element per row (ir/analysis/diagonal.h), so that a
/// sum with a compressed matrix iterates over the union of both:
///
///     %3 = compute [i in 0..%0, j in 0..%0] (add(%1[i, j], select(eq(i, j), %2[i], 0.0)))
/// becomes
///     %4 = compute [i in 0..%0, j in 0..%0] (add(0.0, select(eq(i, j), %2[i], 0.0)))
///     %3 = compute [i in 0..%0, j in 0..%0] (add(%1[i, j], %4[i, j]))
///
/// Rows and columns may be selected by index vectors, `A[p[i], q[j]]`; other functions of one index variable become
/// such vectors (index_vectors.h). Before, reads of single elements become those of vectors and scalars
/// (located_reads.h). Equal copies are made once, in front of loops in which they do not change.
struct RearrangedReads {
  ir::Program program;
  /// A matrix that was added, or a vector or scalar of located elements.
  struct Moved {
    std::set<ir::ValueId> from;   ///< compressed matrices without which it is useless
    std::set<ir::ValueId> users;  ///< the results of the original Computes that need it
  };
  std::map<ir::ValueId, Moved> moved;
};
/// Restrictions on the results of Computes.
struct UserResults {
  std::set<ir::ValueId> refused;  ///< not to be changed
  std::set<ir::ValueId> dense;    ///< never compressed, whatever their type
};
[[nodiscard]] RearrangedReads rearranged_reads(const ir::Program& program, const UserResults& results);

}  // namespace tdsl::passes
