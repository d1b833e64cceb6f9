#pragma once

#include <vector>

#include "runtime/plan/op.h"

// Tensors of any number of dimensions in blocks of their stored elements. Blocks have whole rows: only the first
// dimension is cut.

namespace tdsl::plan {

/// A level per dimension. Rows are listed where the elements that are stored at most would leave some empty; else each
/// block decides.
[[nodiscard]] Storage compressed(const std::vector<Index>& shape, const Estimate& stored);

/// Coordinates in a block have 32 bits.
inline constexpr Index kMostBlockExtent = Index{1} << 32;

/// Whether only the first dimension is cut.
[[nodiscard]] inline bool has_whole_rows(const TensorDesc& tensor) {
  for (std::size_t d = 1; d < tensor.shape.size(); ++d) {
    if (!tensor.is_uncut(d)) return false;
  }
  return true;
}

}  // namespace tdsl::plan
