#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace tdsl::ir {

/// Every violated invariant of the index graph as one sentence naming the node; empty if the program is well formed:
/// values defined once and before use, within scope; types and ranks of operands; labels in range; monoid exactly with
/// reduce labels; region arity; loop-carried types equal.
[[nodiscard]] std::vector<std::string> verify(const Program& program);

}  // namespace tdsl::ir
