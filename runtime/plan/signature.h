#pragma once

#include <functional>
#include <string>

#include "runtime/plan/op_plan.h"

// Everything a decision depends on, as text: equal texts, equal plans. Names of tensors and lines are no part of it, so
// that the next iteration of a loop finds the decisions of the one before.

namespace tdsl::plan {

/// How an operation's operands are found: placed ones by what is known of them, sources that wait by the operation that
/// makes them.
struct KnownOperands {
  std::function<const PlacedTensor*(TensorId)> placed;  ///< null: not placed yet
  std::function<const Op*(TensorId)> waiting;           ///< null: does not wait
};

/// Appends a number and a separator.
void append_number(std::string& text, Index x);

[[nodiscard]] std::string signature_of(const Distribution& distribution);
[[nodiscard]] std::string signature_of(const Op& op, const KnownOperands& operands);

/// How a sized tensor is stored and how much; nothing of others.
void append_storage(std::string& text, const TensorDesc& tensor);

}  // namespace tdsl::plan
