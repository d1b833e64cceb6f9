#include "runtime/kernels/label_strides.h"

namespace tdsl::rt {

LabelStrides strides_of(const plan::Access& access, std::size_t labels, const Operand& operand) {
  LabelStrides strides{0, std::vector<Index>(labels, 0)};
  for (std::size_t d = 0; d < access.dims.size(); ++d) {
    const plan::DimAccess& dim = access.dims[d];
    const Index stride = operand.stride[d];
    strides.offset -= operand.box.dim[d].lo * stride;
    if (dim.whole) continue;
    strides.offset += dim.offset.lo * stride;
    for (const plan::Affine::Term& term : dim.terms)
      strides.step[static_cast<std::size_t>(term.label)] += term.coefficient * stride;
  }
  return strides;
}

LabelStrides strides_of(const std::vector<plan::OutSubscript>& out, std::size_t labels, const Operand& block) {
  LabelStrides strides{0, std::vector<Index>(labels, 0)};
  for (std::size_t d = 0; d < out.size(); ++d) {
    const Index stride = block.stride[d];
    if (out[d].label == plan::kPartLabel || out[d].label == plan::kAnyLabel) continue;  // one element, or computed
    strides.offset += (out[d].constant - block.box.dim[d].lo) * stride;
    if (out[d].label >= 0) strides.step[static_cast<std::size_t>(out[d].label)] += out[d].coefficient * stride;
  }
  return strides;
}

Index offset_at(const LabelStrides& strides, std::span<const Interval> labels) {
  Index offset = strides.offset;
  for (std::size_t l = 0; l < labels.size(); ++l) offset += strides.step[l] * labels[l].lo;
  return offset;
}

}  // namespace tdsl::rt
