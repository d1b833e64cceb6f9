#pragma once

#include <memory>

#include "ir/eval/environment.h"
#include "ir/graph/graph.h"

namespace tdsl::ir::eval {

/// Evaluates a Chain node from left to right, in the element type.
[[nodiscard]] std::shared_ptr<Array> evaluate_chain(Environment& environment, const Node& node, const Chain& chain);

}  // namespace tdsl::ir::eval
