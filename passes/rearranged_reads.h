#pragma once

#include <map>
#include <set>

#include "ir/graph.h"

namespace tdsl::passes {

/// Lets Computes walk matrices that they read elsewhere than at index variables that run over whole dimensions:
///
///     %3 = compute [i in 0..3] sum[j in 0..5] (absent_mul(%1[add(2, i), j], %2[j]))
/// becomes
///     %4 = compute [i in 0..3, j in 0..5] (%1[add(2, i), j])
///     %3 = compute [i in 0..3] sum[j in 0..5] (absent_mul(%4[i, j], %2[j]))
///
/// %4 only has elements of %1 in other places (ir/rearrangement.h). A read of one row or column becomes that of a matrix with one, and where a compressed result
/// needs elements of a matrix by columns, they are transposed. Only Computes that walk nothing as they are change, and where they would walk then; what is read
/// behind a condition must be inside for all points, unless all that is chosen between is moved: a concatenation. Equal copies are made once, in front of loops in which they do not change.
struct RearrangedReads {
  ir::Program program;
  /// A matrix that was added.
  struct Moved {
    std::set<ir::ValueId> from;
    std::set<ir::ValueId> users;  ///< the results of the Computes for which it is
  };
  std::map<ir::ValueId, Moved> moved;
};
/// Results in `refused` are left as they are.
[[nodiscard]] RearrangedReads rearranged_reads(const ir::Program& program, const std::set<ir::ValueId>& refused);

}  // namespace tdsl::passes
