#pragma once

#include <span>
#include <vector>

#include "ir/algebra/layout.h"
#include "ir/algebra/relation.h"

namespace tdsl::ir::algebra {

/// Floats that arrive at each site when a relation of this type, already placed on sites, is moved to each layout of
/// `to`: the tuples that the site does not hold, once each. Dimensions are cut into near-equal shares (Sites::shares);
/// for a relation in pieces, each coordinate of a loose axis holds one piece of every key. Everything else on loose
/// axes counts as absent from all sites.
[[nodiscard]] std::vector<Index> arrivals(const RelationType& type, std::span<const Layout> to, const Mesh& mesh);

}  // namespace tdsl::ir::algebra
