#pragma once

#include <functional>
#include <string>

#include "runtime/plan/op_plan.h"

// Text of everything a decision depends on: equal texts have equal plans. Tensor names and lines are excluded, so that
// the next iteration of a loop reuses earlier decisions.

namespace tdsl::plan {

/// Lookup of an operation's operands: placed ones by descriptor, waiting sources by the operation that creates them.
struct KnownOperands {
  std::function<const PlacedTensor*(TensorId)> placed;  ///< null: not placed yet
  std::function<const Op*(TensorId)> waiting;           ///< null: not a waiting source
};

/// Appends a number and a separator.
void append_number(std::string& text, Index x);

[[nodiscard]] std::string signature_of(const Distribution& distribution);
[[nodiscard]] std::string signature_of(const Op& op, const KnownOperands& operands);

/// The storage and number of elements of a sized tensor; nothing for dense ones.
void append_storage(std::string& text, const TensorDesc& tensor);

}  // namespace tdsl::plan
