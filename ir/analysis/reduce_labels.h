#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// Out labels that are not `kept` become reduce labels, those of the operator by which elements are combined: points
/// that meet in one element are a reduction. There are no reduce labels yet. Returns, by new number, the labels as they
/// were called.
std::vector<Expr> reduce_labels(Compute& c, const std::vector<bool>& kept);

}  // namespace tdsl::ir
