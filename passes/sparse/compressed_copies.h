#pragma once

#include <map>
#include <set>

#include "ir/graph/graph.h"
#include "passes/sparse/storage_choice.h"

namespace tdsl::passes {

/// Adds compressed copies of values that no operation produces compressed, a scatter or a product of dense matrices
/// whose type has sparse dimensions, so that operations can iterate over their stored elements:
///
///     %4:f64[%0, sparse %0] = compute [e in 0..%1] (%2[e]) left [%3[e], e]
///     %5 = compute [i in 0..%0] sum[j in 0..%0] (absent_mul(%4[i, j], %6[j]))
/// becomes
///     %4:f64[%0, sparse %0] = compute [e in 0..%1] (%2[e]) left [%3[e], e]
///     %7:f64[%0, sparse %0] = compute [i in 0..%0, j in 0..%0] (%4[i, j])
///     %5 = compute [i in 0..%0] sum[j in 0..%0] (absent_mul(%7[i, j], %6[j]))
///
/// Requires at least two such operations, or one in a loop that %4 is not computed in: a single operation reads all of
/// %4 for less than the cost of a copy.
struct CompressedCopies {
  ir::Program program;
  std::map<ir::ValueId, ir::ValueId> copies;  ///< the copy of each
};
/// `choice`: the storage choice without copies. Does not copy values in `refused`.
[[nodiscard]] CompressedCopies compressed_copies(const ir::Program& program, const StorageChoice& choice,
                                                 const std::set<ir::ValueId>& refused);

/// The originals of copies that are not compressed, or are read whole.
[[nodiscard]] std::set<ir::ValueId> copies_in_vain(const CompressedCopies& copies, const ir::Program& program,
                                                   const StorageChoice& choice);

}  // namespace tdsl::passes
