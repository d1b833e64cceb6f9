#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/print/emit_expr.h"

namespace tdsl::codegen {

/// What an expression computes at least twice, whichever branches it takes, inner parts before those that hold them.
/// Only numbers, and only what cannot stop the run.
[[nodiscard]] std::vector<Expr> common_parts(const Expr& e, const ExprEmitter::BothBranches& both);

/// Names the common parts of an expression: `const double t = sign(i) * z(i); `, one behind the other, to stand in
/// front of it. The emitter writes the names from then on.
[[nodiscard]] std::string named_parts(ExprEmitter& emitter, const Expr& e, const ExprEmitter::BothBranches& both,
                                      const std::function<std::string(std::string_view)>& claim);

}  // namespace tdsl::codegen
