#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// Violated rules of a Compute's sparse iteration, one sentence each: it visits every point that may change the result;
/// levels are iterated below their outer levels; all reads of its compressed operands are visited or looked up; the
/// loops can make the result (ir/analysis/iteration_rules.h).
[[nodiscard]] std::vector<std::string> iteration_problems(const Program& program, const Node& node, const Compute& c);

}  // namespace tdsl::ir
