#pragma once

#include <span>
#include <vector>

#include "ir/algebra/expr.h"
#include "ir/algebra/layout.h"

namespace tdsl::ir::algebra {

/// Floats that arrive at each site by the redistributions among `nodes`, made together: a tuple that several of them
/// bring to a site arrives once, and one that the site holds does not (places.h).
[[nodiscard]] std::vector<Index> moved_by(std::span<const Expr> nodes, const Mesh& mesh);

}  // namespace tdsl::ir::algebra
