#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// What a loop or branch carries under one name.
struct CarriedVariable {
  std::vector<ValueId> sources;  ///< a loop's initial value and yield, what the regions of a branch or choice yield
  std::vector<ValueId> names;    ///< a loop's arguments and its result, the result of a branch
};

/// Of nodes that are neither loops nor branches nor choices: nothing.
[[nodiscard]] std::vector<CarriedVariable> carried_by(const Node& node);

}  // namespace tdsl::ir
