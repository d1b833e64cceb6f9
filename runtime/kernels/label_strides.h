#pragma once

#include <vector>

#include "runtime/kernels/task.h"
#include "runtime/plan/op.h"

namespace tdsl::rt {

/// Addressing of an operand by labels: the element for label values v is at `offset + sum(step[l] * v[l])` elements
/// from the operand's first. Subscripts may be any sums of labels and constants; for neighbourhoods (offsets of more
/// than one element) and whole dimensions the first element is addressed.
struct LabelStrides {
  Index offset = 0;
  std::vector<Index> step;  ///< per label of the operation
};

[[nodiscard]] LabelStrides strides_of(const plan::Access& access, std::size_t labels, const Operand& operand);
/// The same for the output block.
[[nodiscard]] LabelStrides strides_of(const std::vector<plan::OutSubscript>& out, std::size_t labels,
                                      const Operand& block);

/// Offset at the begin of the labels' intervals.
[[nodiscard]] Index offset_at(const LabelStrides& strides, std::span<const Interval> labels);

}  // namespace tdsl::rt
