#pragma once

#include <vector>

#include "ir/differentiate/activity.h"

namespace tdsl::ir {

/// In a loop body, names the single elements that scalar statements read from tensors modified in the loop, and the
/// values they store, so that a reversed loop stores those instead of whole tensors:
///
///     y[i] = sin(y[i - 1]) * x[i];     becomes     let e = y[i - 1]; let v = sin(e) * x[i]; y[i] = v;
///
/// Returns the elements' values. Reads that occur only in a branch stay in place.
[[nodiscard]] std::vector<ValueId> name_elements(Program& program, Region& body, Activity& activity);

}  // namespace tdsl::ir
