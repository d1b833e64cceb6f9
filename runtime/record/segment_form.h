#pragma once

#include <vector>

#include "runtime/plan/segment.h"

namespace tdsl::record {

/// A recorded segment up to the identity of its tensors, which get numbers, *slots*, in order of appearance.
class SegmentForm {
 public:
  /// The segment has no settled operations.
  explicit SegmentForm(plan::Segment segment);

  [[nodiscard]] const plan::Segment& segment() const { return segment_; }
  /// True if `other` differs from the segment in its tensors and the numbers of its operations only. `tensors`: its
  /// tensor of each slot.
  [[nodiscard]] bool matches(const plan::Segment& other, std::vector<plan::TensorId>& tensors) const;
  [[nodiscard]] plan::TensorId tensor(int slot) const { return tensors_[static_cast<std::size_t>(slot)]; }
  /// The slot of one of the segment's tensors; -1: it has no such tensor.
  [[nodiscard]] int slot_of(plan::TensorId tensor) const;
  /// Slots of tensors made by earlier segments.
  [[nodiscard]] const std::vector<int>& outside() const { return outside_; }

 private:
  plan::Segment segment_;
  std::vector<plan::TensorId> tensors_;  ///< by slot
  std::vector<int> uses_;                ///< the slot of each mention of a tensor, in order
  std::vector<int> outside_;
};

}  // namespace tdsl::record
