#pragma once

#include <string>
#include <vector>

#include "runtime/plan/op_plan.h"
#include "runtime/plan/planner.h"

// Predictions in closed form over distributions. Nothing here calls the enumerator (steps.h) or Distribution's owner
// map: the run's counters and these figures share no code.

namespace tdsl::plan {

/// A figure known exactly (lo == hi) or within bounds (data-dependent parts).
struct Range {
  double lo = 0;
  double hi = 0;
  Range& operator+=(const Range& o) {
    lo += o.lo;
    hi += o.hi;
    return *this;
  }
};

/// What one rank does for one planned operation.
struct Cost {
  Range received_elements;
  Range boxes;  ///< pieces asked for
  Range bytes_received;
  double bytes_expected = 0;  ///< of them
  Range flops;
  Range tasks;
  Estimate step_bytes;         ///< remote boxes held at once by one step, those kept for later panels included
  Range output_bytes;          ///< owned output
  double output_expected = 0;  ///< of it
  Range disk_read;             ///< bytes of own pieces that are away
  Range disk_written;          ///< bytes of own output blocks that go to disk
  Range writes;                ///< pieces that go to a file in C order
  double file_bytes = 0;       ///< of them
  double away_bytes = 0;  ///< most of one super-block's output blocks, of those that go away when they are complete
  Range seconds;          ///< predicted
};

/// Messages that bring the boxes: one each, but small ones may share, and a message carries no more than 1 GiB.
[[nodiscard]] Range messages_of(const Cost& cost);

/// Exact cost of the planned operation for one rank.
[[nodiscard]] Cost cost_of(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank,
                           const Machine& machine, int threads);

/// Upper bound of the bytes that one task copies together because an operand lies in several blocks or pieces.
[[nodiscard]] double assembled_bytes(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank);

/// The ranks that stand for all `ranks`: beyond `most` an even spread that includes the first and the last.
[[nodiscard]] std::vector<Index> rank_sample(Index ranks, Index most = kSampledRanks);
/// With those that may be alone with the work: at both ends of a grid that has a home, or with the most tiles of a
/// table.
[[nodiscard]] std::vector<Index> rank_sample(const Distribution& space, Index most = kSampledRanks);

/// Over the ranks that stand for all: maxima and means.
struct CostSummary {
  double max_bytes = 0, mean_bytes = 0;
  double max_flops = 0, mean_flops = 0;
  double max_step = 0, expected_step = 0;
  double max_seconds = 0;
  double max_writes = 0, file_bytes = 0;  ///< of the rank with the most pieces to write
};
[[nodiscard]] CostSummary summarise(const Op& op, const OpPlan& plan, const TensorLookup& tensors,
                                    const Machine& machine, int threads, Index most = kSampledRanks);

}  // namespace tdsl::plan
