#include "runtime/kernels/piece.h"

#include <algorithm>
#include <utility>

#include "runtime/check.h"
#include "runtime/kernels/copy.h"

namespace tdsl::rt {

using plan::idx;

namespace {

/// The packed elements that belong to `box`, a part of the result.
Operand packed_elements(const Operand& packed, const Box& box, Index first, const std::vector<Index>& strides,
                        Index element_bytes) {
  Operand part;
  part.box = box;
  Index offset = first - packed.box[0].lo;
  for (int d = 0; d < box.rank; ++d) {
    part.stride[idx(d)] = strides[idx(d)];
    offset += box[d].lo * strides[idx(d)];
  }
  part.data = packed.data + offset * element_bytes;
  return part;
}

void convert_counts(const Operand& from, const Operand& to, int dimension, const double* counts, Index* integers) {
  if (dimension == from.box.rank) {
    *integers = static_cast<Index>(*counts);
    return;
  }
  for (Index k = 0; k < from.box[dimension].size(); ++k)
    convert_counts(from, to, dimension + 1, counts + k * from.stride[idx(dimension)],
                   integers + k * to.stride[idx(dimension)]);
}

}  // namespace

Kernel piece_kernel(ElementType packed, ElementType result, Index first, std::vector<Index> strides) {
  const bool counts = packed == ElementType::kF64 && result == ElementType::kI64;
  TDSL_CHECK(counts || packed == result, "packed elements have the result's type or are counts");
  const auto bytes = static_cast<Index>(element_size(packed));
  return [counts, first, strides = std::move(strides), bytes](const TaskArgs& t) {
    Box box;
    box.rank = static_cast<int>(strides.size());
    std::ranges::copy(t.labels, box.dim.begin());
    if (box.empty()) return;
    const Operand from = packed_elements(t.inputs[0], box, first, strides, bytes);
    if (!counts) return copy_box(from, t.outputs[0], box, bytes);
    const Operand to = part_of(t.outputs[0], box, bytes);
    convert_counts(from, to, 0, reinterpret_cast<const double*>(from.data), reinterpret_cast<Index*>(to.data));
  };
}

}  // namespace tdsl::rt
