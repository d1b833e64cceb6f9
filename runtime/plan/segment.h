#pragma once

#include <memory>
#include <vector>

#include "runtime/plan/op_plan.h"

namespace tdsl::plan {

/// An operation whose result lies, or which runs, where it is told to: what a program does not record.
struct SettledOp {
  Op op;
  Distribution where;
  std::vector<int> readers{};  ///< not empty: it makes a kept copy of what it reads, for these sites
};

/// What is recorded between two places where the program needs a value, and planned at once.
struct Segment {
  std::vector<Op> ops;
  std::vector<TensorId> dropped;     ///< tensors that lost their last name by the end of the segment
  std::vector<SettledOp> settled{};  ///< after the others
};

/// A segment with its plans, in a legal order of execution.
struct PlannedSegment {
  std::vector<std::shared_ptr<const PlannedOp>> ops;  ///< with sources of earlier segments that are now used
  std::vector<std::vector<TensorId>>
      last_names;               ///< per operation: tensors it is the last to mention; they end with it
  std::vector<TensorId> ended;  ///< tensors of earlier segments that end without a further use
  std::vector<Op> unused;       ///< sources that lost their last name before anything used them
};

/// The planner numbers partial results from here on; recorded tensors have smaller numbers.
inline constexpr TensorId kFirstPart = TensorId{1} << 48;
[[nodiscard]] inline bool is_part(TensorId id) { return id >= kFirstPart; }

}  // namespace tdsl::plan
