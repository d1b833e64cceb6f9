#pragma once

#include <cstdint>
#include <vector>

#include "runtime/kernels/task.h"
#include "runtime/plan/op.h"

namespace tdsl::rt {

/// How an operand is walked by labels: the element for label values v lies `offset + sum(step[l] * v[l])` elements from
/// the operand's first. Subscripts may be any sums of labels and constants; neighbourhoods (offsets of more than one
/// element) and whole dimensions are walked at their first element.
struct LabelStrides {
  Index offset = 0;
  std::vector<Index> step;  ///< per label of the operation
};

[[nodiscard]] LabelStrides strides_of(const plan::Access& access, std::size_t labels, const Operand& operand);
/// The same for the output block.
[[nodiscard]] LabelStrides strides_of(const std::vector<plan::OutSubscript>& out, std::size_t labels,
                                      const Operand& block);

/// Where the labels' intervals begin.
[[nodiscard]] Index offset_at(const LabelStrides& strides, std::span<const Interval> labels);

}  // namespace tdsl::rt
