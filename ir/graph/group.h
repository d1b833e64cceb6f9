#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// A guard that assigns every point of a reduction to one group: `sum[i](X[i, j]) where eq(c, a[i])` for c and j in
/// some ranges.
struct Group {
  std::int32_t label = 0;  ///< the out label that numbers groups
  Expr number;             ///< the group of a point, which may be out of range; uses no out label
};
/// The groups of a reduction, if its guard consists only of such a condition.
[[nodiscard]] std::optional<Group> group_of(const Compute& c);

}  // namespace tdsl::ir
