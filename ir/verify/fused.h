#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// One sentence per violated invariant of a Fused node: members and their labels, reads between members, results.
[[nodiscard]] std::vector<std::string> fused_problems(const Program& program, const Node& node, const Fused& fused);

}  // namespace tdsl::ir
