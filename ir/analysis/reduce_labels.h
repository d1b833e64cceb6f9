#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// Converts out labels that are not `kept` into reduce labels, with the operator that combines elements: points that
/// write the same element become a reduction. Requires that there are no reduce labels yet. Returns, by new number,
/// references to the old labels.
std::vector<Expr> reduce_labels(Compute& c, const std::vector<bool>& kept);

}  // namespace tdsl::ir
