#pragma once

#include <vector>

#include "runtime/plan/op.h"

// Tensors of any rank stored as blocks of their nonzeros. Blocks hold whole rows: only the first dimension is cut.

namespace tdsl::plan {

/// One level per dimension. Rows are compressed if the upper bound of stored elements would leave some rows empty;
/// otherwise each block decides.
[[nodiscard]] Storage compressed(const std::vector<Index>& shape, const Estimate& stored);

/// Coordinates within a block are 32 bits wide.
inline constexpr Index kMostBlockExtent = Index{1} << 32;

/// True if only the first dimension is cut.
[[nodiscard]] inline bool has_whole_rows(const TensorDesc& tensor) {
  for (std::size_t d = 1; d < tensor.shape.size(); ++d) {
    if (!tensor.is_uncut(d)) return false;
  }
  return true;
}

}  // namespace tdsl::plan
