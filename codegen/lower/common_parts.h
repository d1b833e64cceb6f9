#pragma once

#include <vector>

#include "codegen/print/emit_expr.h"

namespace tdsl::codegen {

/// What an expression computes at least twice, whichever branches it takes, inner parts before those that hold them.
/// Only numbers, and only what cannot stop the run.
[[nodiscard]] std::vector<Expr> common_parts(const Expr& e, const ExprEmitter::BothBranches& both);

}  // namespace tdsl::codegen
