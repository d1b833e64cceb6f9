#pragma once

#include <string>
#include <vector>

#include "codegen/nest/nest.h"

namespace tdsl::nest {

/// Every violated invariant as one sentence; empty if the nest is well formed:
/// - scopes: indices are used inside their loops or behind their checks, locals behind their definitions, results only
/// written;
/// - types of expressions, and of what is written; ranks;
/// - results that are updated have values before: from a fill, or because they are continued;
/// - in loops of vectors nothing may stop the run, and no iteration needs another one;
/// - of compressed tensors, what verify_stored says.
[[nodiscard]] std::vector<std::string> verify(const Nest& nest);

}  // namespace tdsl::nest
