#pragma once

#include <vector>

#include "runtime/kernels/task.h"
#include "runtime/types.h"

namespace tdsl::rt {

/// Extracts one result from a one-dimensional tensor into which a fused operator has packed several: the element with
/// subscripts s is number `first` + sum of s[d] * strides[d]. Packed elements have the result's type, or are counts in
/// f64 for an i64 result.
[[nodiscard]] Kernel piece_kernel(ElementType packed, ElementType result, Index first, std::vector<Index> strides);

}  // namespace tdsl::rt
