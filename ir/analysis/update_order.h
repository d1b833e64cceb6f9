#pragma once

#include <cstdint>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// How a Compute with a base may write into the base's own memory. All its points read the old values of the base.
///
///     D[i, k] = D[i, k] - c * D[i - 1, k]     in place: no point writes an element that another one reads
///     y[k] += a * y[n - 1 - k]                staged: all values are computed before the first is written
enum class UpdateOrder : std::uint8_t {
  kInPlace,
  kStaged,
  kCopied,  ///< values or positions depend on elements that other points write: base and result are both needed
};
/// `update` has a base and one result.
[[nodiscard]] UpdateOrder update_order(const Compute& update);

}  // namespace tdsl::ir
