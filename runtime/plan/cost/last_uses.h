#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/plan/op_plan.h"

namespace tdsl::plan {

/// Where the lives of dropped tensors end within a segment.
struct LastUses {
  std::vector<std::vector<TensorId>> after;  ///< per planned operation: tensors that it is the last to mention
  std::vector<TensorId> unused;              ///< mentioned by none of them
};
/// `dropped`: tensors that lost their last name by the end of the segment; the order is kept.
[[nodiscard]] LastUses last_uses(const std::vector<std::shared_ptr<const PlannedOp>>& segment,
                                 const std::vector<TensorId>& dropped);

/// The access reads exactly the element the operation writes, and nothing reads it after it is written.
[[nodiscard]] bool reads_where_it_writes(const Op& op, const Access& access);
/// Nothing but the task of the same tile reads a block of the base, element by element: the last operation to need the
/// base overwrites it.
[[nodiscard]] bool updates_in_place(const Op& op, const OpPlan& plan);

/// Bytes of blocks that one rank holds while operations run one after the other: what it owns of live tensors, and the
/// widest step of the running operation.
class ResidentBytes {
 public:
  explicit ResidentBytes(Index rank) : rank_(rank) {}
  /// The operation runs; `step_bytes` is the largest footprint of one of its steps; then `dead` are freed. Returns what
  /// was held at most meanwhile.
  double run(const PlannedOp& op, double step_bytes, const std::vector<TensorId>& dead);
  /// So many bytes of a tensor are there from now on.
  void hold(TensorId id, double bytes);
  void free(TensorId id);
  [[nodiscard]] Index rank() const { return rank_; }
  [[nodiscard]] double live() const { return live_; }
  [[nodiscard]] double owned(TensorId id) const { return owned_.contains(id) ? owned_.at(id) : 0; }
  [[nodiscard]] double peak() const { return peak_; }

 private:
  Index rank_;
  std::unordered_map<TensorId, double> owned_;
  double live_ = 0;
  double peak_ = 0;
};

}  // namespace tdsl::plan
