#pragma once

#include <vector>

#include "runtime/plan/steps/steps.h"
#include "runtime/plan/steps/tree.h"

// Pieces that a rank reads in the memory of another rank of its node instead of receiving them
// (engine/store/shared_windows.h). Decided by the plan, so that all ranks and predictions agree.

namespace tdsl::plan {

/// The rule's parameters, equal on all ranks.
struct InPlace {
  Index least = 0;                ///< bytes of a piece, at least; 0: no piece is read in place
  std::vector<int> node_of_rank;  ///< by rank
};

/// The rank that a fetch of the step requests its piece from, and those that request it from this rank.
[[nodiscard]] TreePlace place_of_fetch(const TaskSpace& space, const Step& step, const Fetch& fetch, Index me);

/// True if rank `me`, with this place in the piece's tree, reads the piece in its owner's block: the owner is on the
/// same node, the block is dense and in memory, and the piece lies in it as it would in a buffer of its own:
/// contiguous, 64-byte aligned. So kernels see the same strides, and give the same bits.
[[nodiscard]] bool is_read_in_place(const InPlace& rule, const PlacedTensor& tensor, const Fetch& fetch,
                                    const TreePlace& place, Index me);

/// Bytes of the operation's pieces that the rank reads in place, part of the bytes received. Enumerates its steps.
[[nodiscard]] Index bytes_in_place(const InPlace& rule, const Op& op, const OpPlan& plan, const TensorLookup& tensors,
                                   Index rank);

}  // namespace tdsl::plan
