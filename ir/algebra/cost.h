#pragma once

#include <span>
#include <vector>

#include "ir/algebra/expr.h"
#include "ir/algebra/layout.h"
#include "ir/algebra/relation.h"

namespace tdsl::ir::algebra {

/// The papers' cost of a plan: the floats sent by its redistributions, counted once per copy (BCAST: floats times
/// sites; SHUF: floats), even if they are already at their destination. A node that is used twice counts once. Partial
/// results count once per site that holds a piece, at most. Existing tuples are counted, not the frontier's product.
[[nodiscard]] Index paper_cost(std::span<const Expr> roots, const Mesh& mesh);
/// On one axis of `sites`.
[[nodiscard]] Index paper_cost(const Expr& e, Index sites);

/// Floats that arrive at each site when a relation of this type, already placed on sites, is moved to each layout of
/// `to`: the tuples that the site does not hold, once each. Dimensions are cut into near-equal shares (Sites::shares);
/// for a relation in pieces, each coordinate of a loose axis holds one piece of every key. Everything else on loose
/// axes counts as absent from all sites.
[[nodiscard]] std::vector<Index> arrivals(const RelationType& type, std::span<const Layout> to, const Mesh& mesh);

}  // namespace tdsl::ir::algebra
