#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// A guard that puts every point of a reduction into one group: `sum[i](X[i, j]) where eq(c, a[i])` for c and j in some
/// ranges.
struct Group {
  std::int32_t label = 0;  ///< the out label that counts groups
  Expr number;             ///< the group that a point belongs to, which may be none of the range; mentions no out label
};
/// The groups of a reduction whose guard is nothing else.
[[nodiscard]] std::optional<Group> group_of(const Compute& c);

}  // namespace tdsl::ir
