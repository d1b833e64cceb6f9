#pragma once

#include <cstdint>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// How a compressed matrix comes to be.
enum class StoredBy : std::uint8_t {
  kNone,           ///< it is not compressed, or nothing makes compressed matrices of this kind
  kWalk,           ///< by a walk over stored elements of operands (ir/analysis/stored_walk.h)
  kRearrangement,  ///< its elements are those of compressed matrices in other places (ir/analysis/rearrangement.h)
  kPoints,         ///< all points are computed from what is dense, and zeros are left out
};
[[nodiscard]] StoredBy storage_of(const Program& program, const Node& node);

}  // namespace tdsl::ir
