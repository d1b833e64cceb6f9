#pragma once

#include "runtime/plan/op.h"

namespace tdsl::plan {

/// Elements of a sized matrix that are stored in a range of its rows, from RowCounts, which the tensor has. What is counted twice is stored once.
[[nodiscard]] Estimate stored_in_rows(const TensorDesc& tensor, Interval rows);

}  // namespace tdsl::plan
