#pragma once

#include "ir/algebra/block.h"
#include "ir/algebra/evaluate.h"
#include "ir/algebra/keys.h"

namespace tdsl::ir::algebra {

// Relations whose blocks are arrays of as many dimensions as their keys have: block dimension d of key k is the part
// number k[d] of the whole array's dimension d.

/// The whole arrays; absent blocks are zero. Throws AlgebraError for blocks of other dimensions.
[[nodiscard]] Block whole_of(const Tuples& tuples, const Key& frontier, const BlockType& block);
/// The arrays cut into `frontier` equal blocks. Throws AlgebraError where extents are no multiples of it.
[[nodiscard]] Tuples tuples_of(const Block& whole, const Key& frontier);

}  // namespace tdsl::ir::algebra
