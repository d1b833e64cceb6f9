#pragma once

#include "ir/algebra/block.h"
#include "ir/algebra/evaluate.h"
#include "ir/algebra/keys.h"

namespace tdsl::ir::algebra {

// no key value is called t

/// The whole arrays; absent blocks are zero. Throws AlgebraError for blocks with a different number of dimensions.
[[nodiscard]] Block whole_of(const Tuples& tuples, const Key& frontier, const BlockType& block);
/// The arrays cut into `frontier` equal blocks. Throws AlgebraError unless extents are multiples of it.
[[nodiscard]] Tuples tuples_of(const Block& whole, const Key& frontier);

}  // namespace tdsl::ir::algebra
