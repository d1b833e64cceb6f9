#pragma once

#include "ir/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// Warns `[dense-storage]` of every tensor whose type has sparse dimensions although all of its elements are stored: compressed storage
/// takes the place of dense blocks operation by operation, and what it covers is not named here any more.
void warn_of_dense_storage(const ir::Program& program, PassContext& context);

}  // namespace tdsl::passes
