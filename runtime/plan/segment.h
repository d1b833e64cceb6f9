#pragma once

#include <memory>
#include <vector>

#include "runtime/plan/op_plan.h"

namespace tdsl::plan {

/// An operation that the program does not record and whose placement, or that of its result, is fixed in advance.
struct SettledOp {
  Op op;
  Distribution where;
  std::vector<int> readers{};  ///< not empty: it makes a kept copy of its operand for these sites
};

/// The operations recorded between two points at which the program needs a value; planned together.
struct Segment {
  std::vector<Op> ops;
  std::vector<TensorId> dropped;     ///< tensors that lost their last name by the end of the segment
  std::vector<SettledOp> settled{};  ///< run after the others
};

/// A segment with its plans, in a legal execution order.
struct PlannedSegment {
  std::vector<std::shared_ptr<const PlannedOp>> ops;  ///< including sources of earlier segments that are now used
  std::vector<std::vector<TensorId>> last_names;      ///< per operation: tensors whose last use it is; they die with it
  std::vector<TensorId> ended;                        ///< tensors of earlier segments that die without a further use
  std::vector<Op> unused;                             ///< sources that lost their last name before their first use
};

/// The planner numbers partial results from here; recorded tensors have smaller ids.
inline constexpr TensorId kFirstPart = TensorId{1} << 48;
[[nodiscard]] inline bool is_part(TensorId id) { return id >= kFirstPart; }

}  // namespace tdsl::plan
