#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Lets everything that neither walks a compressed matrix nor has its elements in other places
/// (ir/analysis/rearrangement.h) read a dense copy, which a walk makes in front of its first reader:
///
///     %2 = compute [i in 0..%0, j in 0..%0] (exp(%1[i, j]))                %1 compressed
/// becomes
///     %3 = compute [i in 0..%0, j in 0..%0] (%1[i, j])
///     %2 = compute [i in 0..%0, j in 0..%0] (exp(%3[i, j]))
///
/// Loops and branches that carry a variable dense begin with copies, and yield some. A walk may also look up elements
/// of other compressed matrices at its row and column. The copy has the type of what it copies. Matrices that nothing
/// walks any more, since other passes changed who reads them, lose their mark, and their copies go. Copies warn
/// `[dense-copy]`.
///
/// Postcondition: verified; every compressed value is read by walks and rearrangements only.
[[nodiscard]] ir::Program dense_copies(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
