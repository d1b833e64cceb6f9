#pragma once

#include <span>
#include <vector>

#include "ir/algebra/layout.h"
#include "ir/algebra/relation.h"

namespace tdsl::ir::algebra {

/// Per site, the floats that arrive there when a relation of the type, which lies on sites, is moved to each of `to`:
/// those of tuples that the site does not hold, once each. Dimensions are cut into near-equal shares (Sites::shares); a
/// coordinate of a loose axis has one piece of every key of a relation in pieces. What else is loose counts as if it
/// were nowhere.
[[nodiscard]] std::vector<Index> arrivals(const RelationType& type, std::span<const Layout> to, const Mesh& mesh);

}  // namespace tdsl::ir::algebra
