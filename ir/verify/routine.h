#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// One sentence per violated invariant of a Routine: number, types, ranks and extents of operands and results.
[[nodiscard]] std::vector<std::string> routine_problems(const Program& program, const Node& node,
                                                        const Routine& routine);

}  // namespace tdsl::ir
