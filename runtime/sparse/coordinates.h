#pragma once

#include <vector>

#include "runtime/plan/space/index.h"
#include "runtime/sparse/block.h"

namespace tdsl::rt::sparse {

/// The subscripts along one dimension of the elements that the blocks store, as ascending runs with gaps between them.
/// `block` covers `box`; levels are in the order of the dimensions. For a compressed outer level an upper bound: its
/// listed coordinates.
[[nodiscard]] std::vector<plan::Interval> coordinates_of(const BlockHead& block, const plan::Box& box, int dimension);

}  // namespace tdsl::rt::sparse
