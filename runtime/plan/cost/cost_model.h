#pragma once

#include <vector>

#include "runtime/plan/op_plan.h"
#include "runtime/plan/planner.h"

// Cost predictions in closed form over distributions. Nothing here calls the enumerator (steps.h) or Distribution's
// owner map, so predictions and the run's counters share no code.

namespace tdsl::plan {

/// A figure known exactly (lo == hi) or bounded (data-dependent).
struct Range {
  double lo = 0;
  double hi = 0;
  Range& operator+=(const Range& o) {
    lo += o.lo;
    hi += o.hi;
    return *this;
  }
};

/// Work and traffic of one rank for one planned operation.
struct Cost {
  Range received_elements;
  Range boxes;  ///< requested pieces
  Range bytes_received;
  double bytes_expected = 0;  ///< expected value of the received bytes
  Range flops;
  Range tasks;
  Estimate step_bytes;         ///< remote boxes held at once by one step, including those kept for later panels
  Range output_bytes;          ///< owned output
  double output_expected = 0;  ///< expected value of output_bytes
  Range disk_read;             ///< bytes of own non-resident pieces
  Range disk_written;          ///< bytes of own output blocks written to disk
  Range writes;                ///< pieces written to a file in C order
  double file_bytes = 0;       ///< bytes of these pieces
  double away_bytes = 0;  ///< largest total, over super-blocks, of output blocks that are written out once complete
  Range seconds;          ///< predicted
};

/// Messages that carry the boxes: one each, but small boxes may share a message, and a message carries at most 1 GiB.
[[nodiscard]] Range messages_of(const Cost& cost);

/// Exact cost of the planned operation for one rank.
[[nodiscard]] Cost cost_of(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank,
                           const Machine& machine, int threads);

/// Upper bound of the bytes one task copies to assemble operands that span several blocks or pieces.
[[nodiscard]] double assembled_bytes(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank);

/// Ranks sampled for pricing: all, or if there are more than `most`, an even spread including the first and the last.
[[nodiscard]] std::vector<Index> rank_sample(Index ranks, Index most = kSampledRanks);
/// Also includes ranks that may do all the work alone: both ends of a grid with a home rank, or the ranks with the most
/// tiles of an owner table.
[[nodiscard]] std::vector<Index> rank_sample(const Distribution& space, Index most = kSampledRanks);

/// Maxima and means over the sampled ranks.
struct CostSummary {
  double max_bytes = 0, mean_bytes = 0;
  double max_flops = 0, mean_flops = 0;
  double max_step = 0, expected_step = 0;
  double max_seconds = 0;
  double max_writes = 0, file_bytes = 0;  ///< of the rank that writes the most pieces
};
[[nodiscard]] CostSummary summarise(const Op& op, const OpPlan& plan, const TensorLookup& tensors,
                                    const Machine& machine, int threads, Index most = kSampledRanks);

}  // namespace tdsl::plan
