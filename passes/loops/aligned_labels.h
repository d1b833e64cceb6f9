#pragma once

#include <functional>

#include "ir/graph/graph.h"

namespace tdsl::passes {

/// Counts index variables with changing ranges from another start where that makes more subscripts independent of
/// loops: `sum[k in 0..n - i](A[k + i] * B[k + i])` becomes `sum[k in i..n](A[k] * B[k])`. `varies`: true for indices
/// of loops.
void align_labels(ir::Compute& c, const std::function<bool(ir::ValueId)>& varies);

}  // namespace tdsl::passes
