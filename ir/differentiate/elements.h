#pragma once

#include <vector>

#include "ir/differentiate/activity.h"

namespace tdsl::ir {

/// Gives a loop's body names for the single elements that its scalar statements read of tensors which change in it, and
/// for the values they store, so that a reversed loop keeps those instead of whole tensors:
///
///     y[i] = sin(y[i - 1]) * x[i];     becomes     let e = y[i - 1]; let v = sin(e) * x[i]; y[i] = v;
///
/// Returns the elements' values. What is read in a branch only stays where it is.
[[nodiscard]] std::vector<ValueId> name_elements(Program& program, Region& body, Activity& activity);

}  // namespace tdsl::ir
