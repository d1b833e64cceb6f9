#pragma once

#include <functional>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::codegen {

/// True for a select that computes both branches and then selects one.
using BothBranches = std::function<bool(const ir::Select&)>;

/// Subexpressions that are computed at least twice on every path through the branches, inner ones before those that
/// contain them. Only numbers whose computation cannot stop the run.
[[nodiscard]] std::vector<ir::Expr> common_parts(const ir::Expr& e, const BothBranches& both);

}  // namespace tdsl::codegen
