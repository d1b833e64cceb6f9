#pragma once

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Warns `[dense-storage]` of every tensor whose type has sparse dimensions although all of its elements are stored,
/// and says why. What is dense because something reads all elements of a compressed matrix has been warned of
/// (dense_copies.h).
void warn_of_dense_storage(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
