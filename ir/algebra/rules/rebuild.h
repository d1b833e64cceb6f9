#pragma once

#include <functional>
#include <vector>

#include "ir/algebra/expr.h"

namespace tdsl::ir::algebra {

/// Rebuilds the expression bottom-up with `f(node, new operands)`.
Expr rebuild(Expr root, const std::function<Expr(const Node&, std::vector<Expr>)>& f);
/// `root` with all occurrences of `target` replaced by `replacement`.
Expr replace(Pool& pool, Expr root, Expr target, Expr replacement);

}  // namespace tdsl::ir::algebra
