#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// A variable carried by a loop or branch.
struct CarriedVariable {
  std::vector<ValueId> sources;  ///< a loop's initial value and yield; the yields of a branch's or choice's regions
  std::vector<ValueId> names;    ///< a loop's arguments and its result; the result of a branch
};

/// Empty for nodes other than loops, branches and choices.
[[nodiscard]] std::vector<CarriedVariable> carried_by(const Node& node);

}  // namespace tdsl::ir
