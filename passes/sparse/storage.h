#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Chooses the matrices with sparse dimensions whose blocks hold stored elements only:
///
///     %1:f64[%0, sparse %0] "A" = input "A"
///     %3 = compute [i in 0..%0] sum[j in 0..%0] (absent_mul(%1[i, j], %2[j]))
/// becomes
///     %1:f64[%0, sparse %0] "A" compressed = input "A"
///
/// These are inputs, and results that are computed from stored elements of compressed operands, if at least one
/// operation goes over their stored elements; and matrices that are computed at all points, if one does. Where a
/// Compute reads a matrix elsewhere, `A[2:5, :]`, it may walk one of those elements alone (rearranged_reads.h).
/// Reductions in which absent elements have a part are split before (background.h). Where the matrices are needed
/// whole, a dense copy is made at once (dense_copies.h), so that loops over single elements read that one and can still
/// run as one task. No later pass takes a walk for anything else: a value that is marked makes what reads it no part of
/// serial loops or nests.
///
/// Precondition and postcondition: verified; nothing is compressed before.
[[nodiscard]] ir::Program storage(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
