#pragma once

#include <map>

#include "ir/graph/graph.h"

namespace tdsl::ir::eval {

/// Float scalars that accumulate in every iteration of a loop, each with its previous value: `s = s + e`, also in
/// branches and repeatedly. A compiler may add the terms of all iterations in any order.
[[nodiscard]] std::map<ValueId, ValueId> scalar_accumulations(const Program& program);

/// True if the Compute adds to one element of its base: `x[i] = x[i] + e`.
[[nodiscard]] bool adds_to_element(const Compute& c);

}  // namespace tdsl::ir::eval
