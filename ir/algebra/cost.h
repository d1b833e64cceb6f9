#pragma once

#include <span>

#include "ir/algebra/expr.h"
#include "ir/algebra/layout.h"

namespace tdsl::ir::algebra {

/// The papers' cost of a plan: the floats that its redistributions hand on, each counted for every copy made of it
/// (BCAST: floats times sites; SHUF: floats), whether or not it already is where it goes. A node that is used twice
/// counts once. Partial results count as many times as sites hold a piece, at most. Tuples are counted, not the
/// frontier's product.
[[nodiscard]] Index paper_cost(std::span<const Expr> roots, const Mesh& mesh);
/// On one axis of `sites`.
[[nodiscard]] Index paper_cost(const Expr& e, Index sites);

}  // namespace tdsl::ir::algebra
