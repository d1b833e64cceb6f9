#pragma once

#include <vector>

#include "runtime/kernels/task.h"
#include "runtime/types.h"

namespace tdsl::rt {

/// The kernel of a result that a fused operator has packed, with others, into a one-dimensional tensor: element number
/// `first` + sum of subscripts times `strides`. Packed elements have the result's type, or are counts in f64.
[[nodiscard]] Kernel piece_kernel(ElementType packed, ElementType result, Index first, std::vector<Index> strides);

}  // namespace tdsl::rt
