#pragma once

#include <algorithm>

#include "runtime/plan/space/candidates.h"

namespace tdsl::plan::parts {

/// The operand's dimension that is indexed by exactly `label` over its whole extent, or -1.
[[nodiscard]] inline int plain_dim(const Op& op, const Access& access, int label, const TensorDesc& operand) {
  const Interval range = op.labels[idx(label)].range;
  for (std::size_t d = 0; d < access.dims.size(); ++d) {
    const DimAccess& dim = access.dims[d];
    if (dim.whole || dim.divisor != 1 || dim.terms.size() != 1 || dim.terms[0].label != label ||
        dim.terms[0].coefficient != 1)
      continue;
    const Interval image{range.lo + dim.offset.lo, range.hi + dim.offset.hi - 1};
    if (image.lo <= 0 && image.hi >= operand.shape[d] && dim.offset.lo + range.lo == 0) return static_cast<int>(d);
  }
  return -1;
}

/// The same for a reduce label whose tiles are those of the dimension; neighbours of a shorter range may also cover the
/// whole extent.
[[nodiscard]] inline int reduced_dim(const Op& op, const Access& access, int label, const TensorDesc& operand) {
  const int d = plain_dim(op, access, label, operand);
  return d >= 0 && operand.shape[idx(d)] == op.labels[idx(label)].range.size() ? d : -1;
}

/// The lists of entries that the operation combines, or null.
[[nodiscard]] inline const PlacedTensor* combined_lists(const Op& op, const Operands& operands) {
  if (op.op_class != OpClass::kCombine) return nullptr;
  const PlacedTensor* const lists = operands.placed(op.reads.front().tensor);
  return lists != nullptr && lists->desc.storage.entries ? lists : nullptr;
}

[[nodiscard]] inline bool mentions(const DimAccess& dim, int label) {
  return !dim.whole && dim.divisor == 1 &&
         std::any_of(dim.terms.begin(), dim.terms.end(), [&](const Affine::Term& t) { return t.label == label; });
}

/// Bytes of the largest operand that is indexed by the label.
[[nodiscard]] inline double gathered_bytes(const Op& op, int label, const Operands& operands) {
  double most = 0;
  for (const Access& access : op.reads) {
    const bool gathers =
        std::any_of(access.dims.begin(), access.dims.end(), [&](const DimAccess& dim) { return mentions(dim, label); });
    const PlacedTensor* placed = operands.placed(access.tensor);
    const TensorDesc& tensor = placed != nullptr ? placed->desc : operands.describe(access.tensor);
    if (gathers)
      most = std::max(most, static_cast<double>(tensor.elements()) * static_cast<double>(tensor.element.bytes));
  }
  return most;
}

/// Number of split reduce labels, given each label's number of coordinates.
[[nodiscard]] inline int split_labels(const std::vector<Index>& coordinates) {
  return static_cast<int>(std::count_if(coordinates.begin(), coordinates.end(), [](Index c) { return c > 1; }));
}

/// Consecutive tiles per coordinate, so that every coordinate gets its share of a row of tiles.
[[nodiscard]] inline Index contiguous(const Tiling& tiling, Index coordinates) {
  return std::max<Index>(1, ceil_div(tiling.tiles(), coordinates));
}

}  // namespace tdsl::plan::parts
