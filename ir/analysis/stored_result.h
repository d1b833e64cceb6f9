#pragma once

#include <cstdint>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// How a compressed matrix is computed.
enum class StoredBy : std::uint8_t {
  kNone,           ///< it is dense, or no mechanism creates such a compressed matrix
  kWalk,           ///< by sparse iteration over stored elements of operands (ir/analysis/stored_walk.h)
  kRearrangement,  ///< its elements are those of compressed matrices at other positions (ir/analysis/rearrangement.h)
  kPoints,         ///< all points are computed from dense operands, and zeros are dropped
};
[[nodiscard]] StoredBy storage_of(const Program& program, const Node& node);

}  // namespace tdsl::ir
