#pragma once

#include <map>
#include <set>

#include "ir/graph/graph.h"
#include "passes/sparse/storage_choice.h"

namespace tdsl::passes {

/// Lets operations walk what nothing makes compressed, a scatter or a product of dense matrices whose type has sparse
/// dimensions:
///
///     %4:f64[%0, sparse %0] = compute [e in 0..%1] (%2[e]) left [%3[e], e]
///     %5 = compute [i in 0..%0] sum[j in 0..%0] (absent_mul(%4[i, j], %6[j]))
/// becomes
///     %4:f64[%0, sparse %0] = compute [e in 0..%1] (%2[e]) left [%3[e], e]
///     %7:f64[%0, sparse %0] = compute [i in 0..%0, j in 0..%0] (%4[i, j])
///     %5 = compute [i in 0..%0] sum[j in 0..%0] (absent_mul(%7[i, j], %6[j]))
///
/// Where at least two operations would, or one in a loop that %4 is not made in: one alone reads all of %4 for less
/// than a copy costs.
struct CompressedCopies {
  ir::Program program;
  std::map<ir::ValueId, ir::ValueId> copies;  ///< the copy of each
};
/// `choice` is what is compressed without; values in `refused` are not copied.
[[nodiscard]] CompressedCopies compressed_copies(const ir::Program& program, const StorageChoice& choice,
                                                 const std::set<ir::ValueId>& refused);

/// The copies that are not compressed, or are read whole: by what they are copies of.
[[nodiscard]] std::set<ir::ValueId> copies_in_vain(const CompressedCopies& copies, const ir::Program& program,
                                                   const StorageChoice& choice);

}  // namespace tdsl::passes
