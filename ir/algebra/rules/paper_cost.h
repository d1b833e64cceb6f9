#pragma once

#include <span>

#include "ir/algebra/expr.h"
#include "ir/algebra/layout.h"

namespace tdsl::ir::algebra {

/// The papers' cost of a plan: the floats sent by its redistributions, counted once per copy (BCAST: floats times
/// sites; SHUF: floats), even if they are already at their destination. A node that is used twice counts once. Partial
/// results count once per site that holds a piece, at most. Existing tuples are counted, not the frontier's product.
[[nodiscard]] Index paper_cost(std::span<const Expr> roots, const Mesh& mesh);
/// On one axis of `sites`.
[[nodiscard]] Index paper_cost(const Expr& e, Index sites);

}  // namespace tdsl::ir::algebra
