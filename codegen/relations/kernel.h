#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/relations/bodies.h"
#include "ir/algebra/kernel.h"

namespace tdsl::codegen {

/// Labels of an operation, one per dimension.
using LabelList = std::vector<int>;

/// The work of an operation on one block of each operand.
struct BlockWork {
  std::vector<LabelList> operands;  ///< per array
  LabelList result;
  std::vector<plan::Index> extents;              ///< of a block, per label
  std::vector<std::string> names;                ///< of labels
  plan::Combine combine = plan::Combine::kNone;  ///< for labels missing in the result
  [[nodiscard]] bool reduces() const;
};

/// The algebra's kernels for a body: products, sums, element-wise arithmetic and rearrangements. Nothing for others,
/// which become calls.
[[nodiscard]] std::optional<ir::algebra::Kernels> kernels_of(const Body& body, const BlockWork& work);
/// The kernel that combines blocks with equal kept labels.
[[nodiscard]] ir::algebra::Kernel meeting(plan::Combine combine);

}  // namespace tdsl::codegen
