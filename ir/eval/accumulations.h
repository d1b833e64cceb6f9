#pragma once

#include <map>

#include "ir/graph/graph.h"

namespace tdsl::ir::eval {

/// Float scalars that a loop adds to in every iteration, each with the value it is computed from: `s = s + e`, also in
/// branches and several times. A compiler may add the terms of all iterations in any order.
[[nodiscard]] std::map<ValueId, ValueId> scalar_accumulations(const Program& program);

/// Whether the Compute adds to one element of its base: `x[i] = x[i] + e`.
[[nodiscard]] bool adds_to_element(const Compute& c);

}  // namespace tdsl::ir::eval
