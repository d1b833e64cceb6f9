#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/relations/bodies.h"
#include "ir/algebra/kernel.h"

namespace tdsl::codegen {

/// Labels of an operation, one per dimension of something.
using LabelList = std::vector<int>;

/// What an operation does to one block of each operand.
struct BlockWork {
  std::vector<LabelList> operands;  ///< of each array
  LabelList result;
  std::vector<plan::Index> extents;              ///< of a block along each label
  std::vector<std::string> names;                ///< of labels
  plan::Combine combine = plan::Combine::kNone;  ///< of the labels that the result lacks
  [[nodiscard]] bool reduces() const;
};

/// The algebra's kernels for a body: products, sums, element-wise arithmetic and rearrangements. Nothing for all
/// others, which are calls.
[[nodiscard]] std::optional<ir::algebra::Kernels> kernels_of(const Body& body, const BlockWork& work);
/// How blocks that agree in the labels kept meet.
[[nodiscard]] ir::algebra::Kernel meeting(plan::Combine combine);

}  // namespace tdsl::codegen
