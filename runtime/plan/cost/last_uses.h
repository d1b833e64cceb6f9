#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/plan/op_plan.h"

namespace tdsl::plan {

/// The operations at which dropped tensors die within a segment.
struct LastUses {
  std::vector<std::vector<TensorId>> after;  ///< per planned operation: tensors whose last use it is
  std::vector<TensorId> unused;              ///< used by none of them
};
/// `dropped`: tensors that lost their last name by the end of the segment; their order is preserved.
[[nodiscard]] LastUses last_uses(const std::vector<std::shared_ptr<const PlannedOp>>& segment,
                                 const std::vector<TensorId>& dropped);

/// True if the access reads exactly the element the operation writes and no later read uses that element.
[[nodiscard]] bool reads_where_it_writes(const Op& op, const Access& access);
/// True if a task may write its result into the block of the operand, if nothing else needs that: a map that reads the
/// operand only at the element that it writes.
[[nodiscard]] bool may_write_into(const Op& op, TensorId operand);
/// True if each block of the base is read only by the task of the same tile, element by element: the last operation to
/// use the base overwrites it.
[[nodiscard]] bool updates_in_place(const Op& op, const OpPlan& plan);

/// Bytes of the blocks that one rank holds while operations run one after the other: its blocks of live tensors plus
/// the largest step of the running operation.
class ResidentBytes {
 public:
  explicit ResidentBytes(Index rank) : rank_(rank) {}
  /// Runs the operation, whose steps hold up to `step_bytes`, then frees `dead`. Returns the peak.
  double run(const PlannedOp& op, double step_bytes, const std::vector<TensorId>& dead);
  /// Adds `bytes` of a tensor that stay allocated from now on.
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
