#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/planner.h"

namespace tdsl::plan {

/// Blocks of a tensor or a task space, and their owners, row-major.
struct BlockOwners {
  std::vector<Index> blocks;
  std::vector<std::int32_t> owners;
};

/// Where the partial results of an operation are combined. `whole`: the blocks of its result, at the ranks that combine
/// them; `processes`: the ranks with parts, per block and part. If the busiest rank then receives in less time, every
/// block is cut into pieces, one for each rank with parts of it, which combines the parts of its piece; readers fetch
/// the pieces. Prescribed blocks (--tile, --reproducible) are not cut. Four ranks with parts of one block of 8 MB:
///
///     home 0             rank 0 receives 3 x 8 MB
///     cyclic 4x1 on 4x1  every rank receives 3 x 2 MB, and a reader of the block 3 x 2 MB more
[[nodiscard]] BlockOwners combined_in_pieces(const Op& op, BlockOwners whole,
                                             const std::vector<std::int32_t>& processes, const PlanInputs& inputs);

}  // namespace tdsl::plan
