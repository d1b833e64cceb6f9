#pragma once

#include <map>
#include <set>

#include "ir/graph/graph.h"

namespace tdsl::passes {

/// Lets Computes walk matrices that they read elsewhere than at index variables that run over whole dimensions:
///
///     %3 = compute [i in 0..3] sum[j in 0..5] (absent_mul(%1[add(2, i), j], %2[j]))
/// becomes
///     %4 = compute [i in 0..3, j in 0..5] (%1[add(2, i), j])
///     %3 = compute [i in 0..3] sum[j in 0..5] (absent_mul(%4[i, j], %2[j]))
///
/// %4 only has elements of %1 in other places (ir/analysis/rearrangement.h). A read of one row or column becomes that
/// of a matrix with one, and where a walk needs elements of a matrix by columns (`A' @ A`, its result compressed or
/// dense), they are transposed. Only Computes that do not walk all of their matrices as they are change, and where they
/// walk more of them then; if the result is compressed, those that walk none. What is read behind a condition must be
/// inside for all points, unless all that is chosen between is moved: a concatenation. Equal copies are made once, in
/// front of loops in which they do not change.
struct RearrangedReads {
  ir::Program program;
  /// A matrix that was added.
  struct Moved {
    std::set<ir::ValueId> from;
    std::set<ir::ValueId> users;  ///< the results of the Computes for which it is
  };
  std::map<ir::ValueId, Moved> moved;
};
/// What is known of the Computes' results.
struct UserResults {
  std::set<ir::ValueId> refused;  ///< are left as they are
  std::set<ir::ValueId> dense;    ///< will not be compressed, whatever their type says
};
[[nodiscard]] RearrangedReads rearranged_reads(const ir::Program& program, const UserResults& results);

}  // namespace tdsl::passes
